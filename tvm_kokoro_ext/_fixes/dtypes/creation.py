"""Creating tensors with an explicit dtype: zeros_like(x, dtype=…), x.new_zeros(…, dtype=…).

Stock uses the dtype of the given tensor instead.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix, needs_previous


@needs_previous
def made_as(importer: Any, node: Any, previous: Any) -> Any:
    made = previous(node)
    dtype = _emit.result_dtype(importer, node)
    return made if dtype is None else _emit.astype(importer, made, dtype)


@needs_previous
def to_dtype(importer: Any, node: Any, previous: Any) -> Any:
    """Stock misinterprets the dtype if a memory format follows it."""
    dtype = _emit.result_dtype(importer, node)
    x = importer.retrieve_args(node)[0]
    known = dtype is not None and "complex" not in dtype and _compat.is_tensor(x)
    return _emit.astype(importer, x, str(dtype)) if known else previous(node)


@needs_previous
def full_like(importer: Any, node: Any, previous: Any) -> Any:
    """Fill in the dtype of the result; in another dtype, the value could lose its fraction."""
    x, value = importer.retrieve_args(node)[:2]
    dtype = _emit.result_dtype(importer, node)
    if dtype is None or dtype == _compat.dtype_of(x):
        return previous(node)
    shape = relax.ShapeExpr([_emit.int64(dim) for dim in _compat.shape_of(x)])
    return _emit.emit(importer, relax.op.full(shape, _emit.scalar(importer, value, dtype), dtype))


@needs_previous
def full(importer: Any, node: Any, previous: Any) -> Any:
    """Without a dtype, that of the value is used: full((2,), 3) is int64, but float32 in 0.26."""
    made = previous(node)
    dtype = _emit.result_dtype(importer, node)
    if dtype is None or _compat.dtype_of(made) == dtype:
        return made
    value = _emit.scalar(importer, importer.retrieve_args(node)[1], dtype)
    shape = relax.ShapeExpr([_emit.int64(dim) for dim in _compat.shape_of(made)])
    return _emit.emit(importer, relax.op.full(shape, value, dtype))


@needs_previous
def empty(importer: Any, node: Any, previous: Any) -> Any:
    """Support symbolic sizes, which stock does not translate."""
    sizes = importer.retrieve_args(node)[0]
    if all(_compat.as_int(size) is not None for size in sizes):
        return previous(node)
    dtype = _emit.result_dtype(importer, node) or "float32"
    shape = relax.ShapeExpr([_emit.int64(_compat.prim(size)) for size in sizes])
    return _emit.emit(importer, relax.op.zeros(shape, dtype))


@_probe.wrong
def _still_wrong() -> bool:
    import torch

    x = _probe.Input((4,))
    out = ((4,), "int64")
    made = [
        _probe.convert("zeros_like.default", x, out=out, dtype=torch.int64),
        _probe.convert("new_ones.default", x, [4], out=out, dtype=torch.int64),
        _probe.convert("full_like.default", x, 3, out=out, dtype=torch.int64),
        _probe.convert("full.default", [4], 3, out=out),
    ]
    return any(each.dtype != "int64" for each in made)


@_probe.wrong
def _empty_is_constant() -> bool:
    made = _probe.convert("empty.memory_format", [_probe.Symbol("n")], out=(("n",), "float32"))
    return made.shape is None


FIX = Fix(
    id="creation",
    what="zeros_like, ones_like, new_zeros, new_ones ignore dtype; empty knows no symbolic size",
    op="aten.zeros_like, aten.ones_like, aten.new_zeros, aten.new_ones",
    affected="",
    converters={
        "zeros_like.default": made_as,
        "ones_like.default": made_as,
        "empty_like.default": made_as,
        "new_zeros.default": made_as,
        "new_ones.default": made_as,
        "to.dtype": to_dtype,
        "full_like.default": full_like,
        "full.default": full,
        "empty.memory_format": empty,
        "empty_permuted.default": empty,
    },
    probe=_probe.any_of(_still_wrong, _empty_is_constant),
)
