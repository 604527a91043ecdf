"""Tensors made with a dtype of their own: zeros_like(x, dtype=…), x.new_zeros(…, dtype=…).

Stock gives them the dtype of the tensor they are modelled on.
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
def full_like(importer: Any, node: Any, previous: Any) -> Any:
    """Filled in the result's dtype: a value made in another could lose its fraction."""
    x, value = importer.retrieve_args(node)[:2]
    dtype = _emit.result_dtype(importer, node)
    if dtype is None or dtype == _compat.dtype_of(x):
        return previous(node)
    shape = relax.ShapeExpr([_emit.int64(dim) for dim in _compat.shape_of(x)])
    return _emit.emit(importer, relax.op.full(shape, _emit.scalar(importer, value, dtype), dtype))


@needs_previous
def full(importer: Any, node: Any, previous: Any) -> Any:
    """A value without dtype has its own: full((2,), 3) is int64, float32 in 0.26."""
    made = previous(node)
    dtype = _emit.result_dtype(importer, node)
    if dtype is None or _compat.dtype_of(made) == dtype:
        return made
    value = _emit.scalar(importer, importer.retrieve_args(node)[1], dtype)
    shape = relax.ShapeExpr([_emit.int64(dim) for dim in _compat.shape_of(made)])
    return _emit.emit(importer, relax.op.full(shape, value, dtype))


@needs_previous
def empty(importer: Any, node: Any, previous: Any) -> Any:
    """Stock does not translate symbolic sizes."""
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
    made = _probe.convert("zeros_like.default", x, out=((4,), "int64"), dtype=torch.int64)
    return made.dtype != "int64"


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
        "full_like.default": full_like,
        "full.default": full,
        "empty.memory_format": empty,
    },
    probe=_still_wrong,
)
