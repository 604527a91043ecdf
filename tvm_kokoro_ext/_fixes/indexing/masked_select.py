"""masked_select, which 0.25 imports with a length unknown to later stages, and cannot build."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix, needs_previous
from tvm_kokoro_ext._fixes._shared import elementwise, indexing
from tvm_kokoro_ext._fixes.indexing import mask_read


def masked_select(importer: Any, node: Any, previous: Any) -> Any:
    """The elements at which the mask, broadcast with the tensor, is true."""
    x, mask = importer.retrieve_args(node)[:2]
    shape = elementwise.broadcast(x, mask)
    x, mask = (_emit.emit(importer, relax.op.broadcast_to(t, shape)) for t in (x, mask))
    places = mask_read.places(importer, node, mask)
    return _emit.emit(importer, relax.op.take(indexing.flatten(importer, x), places, axis=0))


@needs_previous
def broadcast(importer: Any, node: Any, previous: Any) -> Any:
    """Broadcast tensor and mask to their common shape; stock uses the shape of the tensor."""
    x, mask = importer.retrieve_args(node)[:2]
    shape = elementwise.broadcast(x, mask)
    if len(shape) == _compat.rank_of(x) and all(
        map(_compat.prim_equal, shape, _compat.shape_of(x))
    ):
        return previous(node)
    wide = _emit.emit(importer, relax.op.broadcast_to(x, shape))
    with _emit.standing_in(importer, node.args[0], wide):
        return previous(node)


@_probe.wrong
def _still_narrow() -> bool:
    x, mask = _probe.Input((1, 4)), _probe.Input((4, 4), "bool")
    _probe.convert("masked_select.default", x, mask, out=((4,), "float32"))
    return False


@_probe.wrong
def _still_wrong() -> bool:
    x, mask = _probe.Input((4,)), _probe.Input((4,), "bool")
    made = _probe.convert("masked_select.default", x, mask, out=((4,), "float32"))
    return made.shape is None


FIX = Fix(
    id="masked_select",
    what="a program with masked_select imports, and does not build",
    op="aten.masked_select",
    affected="<0.26",
    converters={"masked_select.default": masked_select},
    probe=_still_wrong,
)
BROADCAST = Fix(
    id="masked_select_broadcast",
    what="masked_select with a mask larger than the tensor fails",
    op="aten.masked_select",
    affected="",
    converters={"masked_select.default": broadcast},
    probe=_still_narrow,
)
