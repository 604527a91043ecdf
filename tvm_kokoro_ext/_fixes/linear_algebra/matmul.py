"""matmul, mm and bmm give the dtype of their operands; stock gives float32, whatever they are."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix


def matmul(importer: Any, node: Any, previous: Any) -> Any:
    lhs, rhs = importer.retrieve_args(node)[:2]
    dtype = _compat.dtype_of(lhs)
    if dtype == "float32":
        return previous(node)
    return _emit.emit(importer, relax.op.matmul(lhs, rhs, out_dtype=dtype))


@_probe.wrong
def _still_wrong() -> bool:
    x, batch = _probe.Input((2, 2), "float64"), _probe.Input((1, 2, 2), "float64")
    operands = {"mm.default": x, "matmul.default": x, "bmm.default": batch}
    products = [_probe.convert(name, y, y, out=(y.shape, y.dtype)) for name, y in operands.items()]
    return any(product.dtype != "float64" for product in products)


FIX = Fix(
    id="matmul",
    what="matmul, mm and bmm compute in float32 whatever their operands are",
    op="aten.matmul, aten.mm, aten.bmm",
    affected="",
    converters={"matmul.default": matmul, "mm.default": matmul, "bmm.default": matmul},
    probe=_still_wrong,
)
