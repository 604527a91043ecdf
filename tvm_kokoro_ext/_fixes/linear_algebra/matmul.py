"""Matrix products give the dtype of their operands; stock gives float32, whatever they are.

float16 and bfloat16 are multiplied as they are, added up in float32 and rounded once, the bias
included, as PyTorch's kernels do (`at::acc_type`).
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix

_HALF = ("float16", "bfloat16")


def accumulation_dtype(dtype: str) -> str:
    """The dtype in which products of this dtype are added up."""
    return "float32" if dtype in _HALF else dtype


def matmul(importer: Any, node: Any, previous: Any) -> Any:
    lhs, rhs = importer.retrieve_args(node)[:2]
    dtype = _compat.dtype_of(lhs)
    if dtype == "float32":
        return previous(node)
    return _emit.astype(importer, _product(importer, lhs, rhs), dtype)


def linear(importer: Any, node: Any, previous: Any) -> Any:
    """x · weightᵀ + bias."""
    x, weight, bias = _emit.arguments(importer, node, "input", "weight", "bias")
    dtype = _compat.dtype_of(x)
    if dtype == "float32":
        return previous(node)
    # The operator of TVM that it decomposes into (a vector has no rows to transpose).
    flipped = weight
    if _compat.rank_of(weight) == 2:
        flipped = _emit.emit(importer, relax.op.permute_dims(weight))
    result = _with_addend(importer, _product(importer, x, flipped), bias, 1)
    return _emit.astype(importer, result, dtype)


def with_addend(importer: Any, node: Any, previous: Any) -> Any:
    """addmm and baddbmm: beta · addend + alpha · (lhs · rhs)."""
    addend, lhs, rhs, beta, alpha = _emit.arguments(
        importer, node, "self", "mat1", "mat2", "beta", "alpha", beta=1, alpha=1
    )
    dtype = _compat.dtype_of(lhs)
    if dtype == "float32":
        return previous(node)
    product = _scaled(importer, _product(importer, lhs, rhs), alpha)
    result = _with_addend(importer, product, addend if beta != 0 else None, beta)
    return _emit.astype(importer, result, dtype)


def _product(importer: Any, lhs: Any, rhs: Any) -> Any:
    """The matrix product in the dtype in which it is added up."""
    dtype = accumulation_dtype(_compat.dtype_of(lhs))
    return _emit.emit(importer, relax.op.matmul(lhs, rhs, out_dtype=dtype))


def _scaled(importer: Any, tensor: Any, factor: Any) -> Any:
    if not _compat.is_prim(factor) and factor == 1:
        return tensor
    scale = _emit.scalar(importer, factor, _compat.dtype_of(tensor))
    return _emit.emit(importer, relax.op.multiply(tensor, scale))


def _with_addend(importer: Any, product: Any, addend: Any, factor: Any) -> Any:
    if addend is None:
        return product
    wide = _emit.astype(importer, addend, _compat.dtype_of(product))
    return _emit.emit(importer, relax.op.add(product, _scaled(importer, wide, factor)))


@_probe.wrong
def _still_wrong() -> bool:
    """The dtype of products, and of half precision whether they are added up in float32."""
    found = []
    for dtype in ("float64", "float16"):
        x, batch = _probe.Input((2, 2), dtype), _probe.Input((1, 2, 2), dtype)
        operands = {"mm.default": x, "matmul.default": x, "bmm.default": batch}
        for name, y in operands.items():
            made = _probe.convert(name, y, y, out=(y.shape, y.dtype))
            found.append(made.dtype == dtype and ("relax.astype" in made.ops) == (dtype in _HALF))
    return not all(found)


@_probe.wrong
def _bias_is_wrong() -> bool:
    """Whether a bias of half precision is added to anything but float32 sums."""
    bias, x = _probe.Input((2,), "float16"), _probe.Input((2, 2), "float16")
    batch = _probe.Input((1, 2, 2), "float16")
    made = [
        _probe.convert("linear.default", x, x, bias, out=(x.shape, x.dtype)),
        _probe.convert("addmm.default", x, x, x, out=(x.shape, x.dtype)),
        _probe.convert("baddbmm.default", batch, batch, batch, out=(batch.shape, x.dtype)),
    ]
    return any(each.dtype != "float16" or each.ops[-1] != "relax.astype" for each in made)


FIX = Fix(
    id="matmul",
    what="matrix products are float32 whatever their operands are, or add up in half precision",
    op="aten.matmul, aten.mm, aten.bmm, aten.linear, aten.addmm, aten.baddbmm",
    affected="",
    converters={
        "matmul.default": matmul,
        "mm.default": matmul,
        "bmm.default": matmul,
        "linear.default": linear,
        "addmm.default": with_addend,
        "baddbmm.default": with_addend,
    },
    probe=_probe.any_of(_still_wrong, _bias_is_wrong),
)
