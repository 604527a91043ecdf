"""Torch's type promotion for binary operators.

Stock converts a Python scalar to the tensor's dtype (`int * 0.5` becomes `int * 0`), divides
integers as integers, promotes a 0-d tensor as if it had dimensions, and has no number for an
integer beside a tensor whose dtype cannot hold it, such as 300 beside int8.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix, needs_previous
from tvm_kokoro_ext._fixes._shared import promotion
from tvm_kokoro_ext._fixes._shared.legalization import overriding


@needs_previous
def promote(importer: Any, node: Any, previous: Any) -> Any:
    args = importer.retrieve_args(node)
    lhs, rhs = args[:2]
    operands = (lhs, rhs)
    plain = all(_compat.is_tensor(v) or isinstance(v, int | float) for v in operands)
    if not plain or not any(_compat.is_tensor(v) for v in operands):
        return previous(node)
    name = node.target.__name__
    dtype = promotion.common_dtype(importer, name, lhs, rhs)
    # Stock's rsub does not convert a Python scalar to the dtype of the tensor.
    if all(_keeps(v, dtype) for v in operands) and not name.startswith("rsub"):
        return previous(node)
    cast = [_emit.tensor_or_scalar(importer, v, dtype) for v in operands]
    return previous(_emit.view(node, *cast, *args[2:], **node.kwargs))


def _keeps(value: Any, dtype: str) -> bool:
    """Whether stock uses the right dtype for this operand, and can express it."""
    if _compat.is_tensor(value):
        return _compat.dtype_of(value) == dtype
    return bool(_emit.wrapped(value, dtype) == value or value != value)


def astype(below: Any, builder: Any, call: Any) -> Any:
    """relax.astype: a constant integer that the dtype cannot hold wraps around."""
    number, dtype = _compat.constant_value(call.args[0]), _compat.dtype_of(call)
    if number is None or number.ndim or number.dtype.kind not in "iu" or "int" not in dtype:
        return below(builder, call)
    return relax.const(_emit.wrapped(int(number), dtype), dtype)


@_probe.wrong
def _still_wrong() -> bool:
    x = _probe.Input((4,), "int64")
    scaled = _probe.convert("mul.Tensor", x, 0.5, out=((4,), "float32"))
    quotient = _probe.convert("div.Tensor", x, x, out=((4,), "float32"))
    small, count = _probe.Input((4,), "int32"), _probe.Input((), "int64")
    total = _probe.convert("add.Tensor", small, count, out=((4,), "int32"))
    _probe.convert("add.Tensor", _probe.Input((4,), "int8"), 300, out=((4,), "int8"))
    return (scaled.dtype, quotient.dtype, total.dtype) != ("float32", "float32", "int32")


FIX = Fix(
    id="dtype_promotion",
    what="int tensor (op) float scalar, int / int, 0-d operands compute in the wrong dtype",
    op="aten binary operators",
    affected="",
    converters={name: promote for name in promotion.BINARY if name not in ("add_.Scalar",)},
    install=overriding({"relax.astype": astype}),
    probe=_still_wrong,
)
