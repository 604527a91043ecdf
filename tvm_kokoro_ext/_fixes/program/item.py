"""`.item()`: before 0.27, stock takes an element along dimension 0, which 0-d tensors lack.

An integer becomes a symbolic size, any other number a 0-d tensor.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix, needs_previous


@needs_previous
def item(importer: Any, node: Any, previous: Any) -> Any:
    x = importer.retrieve_args(node)[0]
    if not _compat.dtype_of(x).startswith(("int", "uint")):
        if _compat.rank_of(x) == 1:
            return previous(node)
        return _emit.emit(importer, relax.op.reshape(x, relax.ShapeExpr([])))
    number = _emit.astype(importer, x, "int64")
    size = _emit.emit(importer, relax.op.reshape(number, relax.ShapeExpr([_emit.int64(1)])))
    return _emit.dimension(importer, size, f"{node.name}_dim")


@_probe.wrong
def _still_wrong() -> bool:
    _probe.convert("item.default", _probe.Input(()))
    return False


FIX = Fix(
    id="item",
    what="the number of a tensor without dimensions, x.item(), fails",
    op="aten.item, aten._local_scalar_dense",
    affected="<0.27",
    converters=dict.fromkeys(("item.default", "_local_scalar_dense.default"), item),
    probe=_still_wrong,
)
