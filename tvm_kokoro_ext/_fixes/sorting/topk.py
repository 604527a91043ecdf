"""topk with sorted=False or of a symbolic number of elements, for both of which stock raises.

Without `sorted`, torch allows any order. TVM's kernel takes a constant number of elements; any
other is the first of all in order.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax, te
from tvm_kokoro_ext._fix import Fix, needs_previous


@needs_previous
def topk(importer: Any, node: Any, previous: Any) -> Any:
    """Give what was asked for in any order in that of the elements."""
    x, number, dim, largest = _emit.arguments(
        importer, node, "self", "k", "dim", "largest", dim=-1, largest=True
    )
    if _compat.as_int(number) is None:
        axis = _emit.normalize_axis(dim, _compat.rank_of(x))
        return _first(importer, x, _compat.prim(number), axis, bool(largest))
    named = {name: value for name, value in node.kwargs.items() if name != "sorted"}
    return previous(_emit.view(node, *node.args[:4], **named))


def _first(importer: Any, x: Any, number: Any, axis: int, largest: bool) -> Any:
    """The tuple (values, indices) of the first elements along an axis, in descending order or not.

    The indices are int64.
    """
    places = relax.op.argsort(x, axis, largest, dtype="int64")
    places = _emit.astype(importer, _emit.emit(importer, places), "int64")

    def compute(order: Any, number: Any) -> Any:
        shape = [number if a == axis else size for a, size in enumerate(order.shape)]
        return te.compute(shape, lambda *at: order(*at), name="first")

    indices = _emit.emit_te(importer, compute, places, number, hint="first")
    values = _emit.emit(importer, relax.op.gather_elements(x, indices, axis))
    return _emit.emit(importer, relax.Tuple([values, indices]))


@_probe.wrong
def _refused() -> bool:
    x = _probe.Input((3,))
    _probe.convert("topk.default", x, 2, -1, True, False, out=((2,), "float32"))
    return False


@_probe.wrong
def _symbolic_is_refused() -> bool:
    number = _probe.Symbol("n")
    _probe.convert("topk.default", _probe.Input((9,)), number, out=(("n",), "float32"))
    return False


FIX = Fix(
    id="topk",
    what="topk with sorted=False or of a symbolic number of elements fails",
    op="aten.topk",
    affected="",
    converters={"topk.default": topk},
    probe=_probe.any_of(_refused, _symbolic_is_refused),
)
