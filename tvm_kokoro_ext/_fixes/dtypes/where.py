"""where, cat and stack promote their operands to a common dtype; stock fails for different dtypes.

Torch also concatenates tensors of any rank with empty ones of shape [0], which it leaves out.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import promotion


def where(importer: Any, node: Any, previous: Any) -> Any:
    condition, x, y = importer.retrieve_args(node)[:3]
    plain = all(_compat.is_tensor(value) for value in (x, y))
    if plain and previous is not None and _compat.dtype_of(x) == _compat.dtype_of(y):
        return previous(node)
    dtype = _emit.result_dtype(importer, node)
    dtype = dtype or promotion.common_dtype(importer, "add.Tensor", x, y)
    x, y = (_emit.tensor_or_scalar(importer, value, dtype) for value in (x, y))
    return _emit.emit(importer, relax.op.where(condition, x, y))


def cat(importer: Any, node: Any, previous: Any) -> Any:
    tensors, axis = _emit.arguments(importer, node, "tensors", "dim", dim=0)
    dtype = _emit.result_dtype(importer, node)
    kept = _without_empty(tensors)
    if len(kept) < len(tensors):
        cast = [
            _emit.astype(importer, tensor, dtype or _compat.dtype_of(tensor)) for tensor in kept
        ]
        return cast[0] if len(cast) == 1 else _emit.emit(importer, relax.op.concat(cast, axis=axis))
    if dtype is None or all(_compat.dtype_of(tensor) == dtype for tensor in tensors):
        return previous(node)
    cast = [_emit.astype(importer, tensor, dtype) for tensor in tensors]
    return _emit.emit(importer, relax.op.concat(cast, axis=axis))


def stack(importer: Any, node: Any, previous: Any) -> Any:
    tensors, axis = _emit.arguments(importer, node, "tensors", "dim", dim=0)
    dtype = _emit.result_dtype(importer, node)
    if dtype is None or all(_compat.dtype_of(tensor) == dtype for tensor in tensors):
        return previous(node)
    axis = _emit.normalize_axis(axis, _compat.rank_of(tensors[0]) + 1)
    cast = [_emit.astype(importer, tensor, dtype) for tensor in tensors]
    rows = [_emit.emit(importer, relax.op.expand_dims(tensor, axis)) for tensor in cast]
    return _emit.emit(importer, relax.op.concat(rows, axis=axis))


def _without_empty(tensors: Any) -> list[Any]:
    """The tensors, less those of shape [0] beside others of more dimensions, as torch has it."""
    rank = max(_compat.rank_of(tensor) for tensor in tensors)
    return [t for t in tensors if rank <= 1 or _compat.shape_of(t) != [0]]


@_probe.wrong
def _still_wrong() -> bool:
    condition, x, y = _probe.Input((4,), "bool"), _probe.Input((4,), "int64"), _probe.Input((4,))
    made = _probe.convert("where.self", condition, x, y, out=((4,), "float32"))
    return made.dtype != "float32"


@_probe.wrong
def _cat_fails() -> bool:
    _probe.convert(
        "cat.default", [_probe.Input((0,)), _probe.Input((2, 3))], out=((2, 3), "float32")
    )
    parts = [_probe.Input((2,), "int64"), _probe.Input((2,))]
    return _probe.convert("cat.default", parts, 0, out=((4,), "float32")).dtype != "float32"


@_probe.wrong
def _stack_fails() -> bool:
    parts = [_probe.Input((2,), "int64"), _probe.Input((2,))]
    return _probe.convert("stack.default", parts, out=((2, 2), "float32")).dtype != "float32"


FIX = Fix(
    id="where",
    what="where, cat and stack with operands of different dtypes",
    op="aten.where, aten.cat, aten.stack",
    affected="",
    converters={
        "where.self": where,
        "where.ScalarSelf": where,
        "where.ScalarOther": where,
        "where.Scalar": where,
        "cat.default": cat,
        "concat.default": cat,
        "stack.default": stack,
    },
    probe=_probe.any_of(
        _still_wrong,
        _cat_fails,
        _stack_fails,
        _probe.lacks("where.ScalarSelf", "where.ScalarOther", "where.Scalar"),
    ),
)
