"""Division with a rounding mode, floor division and integer powers, for every dtype.

Stock gives a scalar divisor a dtype of its own, divides integers as integers where torch does not
round, and has no integer power but by small constants.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes import _elementwise, _promotion


def divide(importer: Any, node: Any, previous: Any) -> Any:
    lhs, rhs = importer.retrieve_args(node)[:2]
    mode = node.kwargs.get("rounding_mode")
    name = "div.Tensor" if mode is None else "floor_divide.default"
    dtype = _promotion.common_dtype(importer, name, lhs, rhs)
    lhs, rhs = (_emit.tensor_or_scalar(importer, value, dtype) for value in (lhs, rhs))
    if mode is None:
        return _emit.emit(importer, relax.op.divide(lhs, rhs))
    if mode == "floor":
        return _floor(importer, lhs, rhs, dtype)
    if "int" in dtype:
        return _elementwise.emit(importer, tirx.truncdiv, lhs, rhs, hint="trunc_divide")
    return _emit.emit(importer, relax.op.trunc(_emit.emit(importer, relax.op.divide(lhs, rhs))))


def floor_divide(importer: Any, node: Any, previous: Any) -> Any:
    lhs, rhs = importer.retrieve_args(node)[:2]
    if not any(_compat.is_tensor(value) for value in (lhs, rhs)):
        return previous(node)
    dtype = _promotion.common_dtype(importer, "floor_divide.default", lhs, rhs)
    lhs, rhs = (_emit.tensor_or_scalar(importer, value, dtype) for value in (lhs, rhs))
    return _floor(importer, lhs, rhs, dtype)


def _floor(importer: Any, lhs: Any, rhs: Any, dtype: str) -> Any:
    if "int" not in dtype:
        return _emit.emit(importer, relax.op.floor_divide(lhs, rhs))
    return _elementwise.emit(importer, tirx.floordiv, lhs, rhs, hint="floor_divide")


def reversed_remainder(importer: Any, node: Any, previous: Any) -> Any:
    """remainder of a number by a tensor."""
    lhs, rhs = importer.retrieve_args(node)[:2]
    dtype = _promotion.common_dtype(importer, "remainder.Tensor", lhs, rhs)
    lhs, rhs = (_emit.tensor_or_scalar(importer, value, dtype) for value in (lhs, rhs))
    return _emit.emit(importer, relax.op.floor_mod(lhs, rhs))


def power(importer: Any, node: Any, previous: Any) -> Any:
    base, exponent = importer.retrieve_args(node)[:2]
    if not any(_compat.is_tensor(value) for value in (base, exponent)):
        return previous(node)
    dtype = _promotion.common_dtype(importer, "pow.Tensor_Tensor", base, exponent)
    if "int" not in dtype or (isinstance(exponent, int) and 0 <= exponent <= 8):
        return previous(node)
    operands = [_emit.tensor_or_scalar(importer, value, dtype) for value in (base, exponent)]
    function = partial(_integer_power, dtype)
    return _elementwise.emit(importer, function, *operands, hint="integer_power")


def _integer_power(dtype: str, base: Any, exponent: Any) -> Any:
    """base ** exponent modulo 2^64 by squaring; a negative exponent gives 1/base, truncated."""
    base, number = tirx.Cast("int64", base), tirx.Cast("int64", exponent)
    one, zero = tirx.const(1, "int64"), tirx.const(0, "int64")
    result: Any = one
    square = base
    for bit in range(6):
        odd = tirx.bitwise_and(tirx.shift_right(number, tirx.const(bit, "int64")), one) == one
        result = result * tirx.if_then_else(odd, square, one)
        square = square * square
    sign = tirx.if_then_else(tirx.bitwise_and(number, one) == one, base, one)
    inverse = tirx.if_then_else(tirx.any(base == one, base == -one), sign, zero)
    return tirx.Cast(dtype, tirx.if_then_else(number < zero, inverse, result))


def _shift(function: Callable[[Any, Any], Any], hint: str) -> Any:
    def convert(importer: Any, node: Any, previous: Any) -> Any:
        lhs, rhs = importer.retrieve_args(node)[:2]
        dtype = _promotion.common_dtype(importer, "bitwise_and.Tensor", lhs, rhs)
        operands = [_emit.tensor_or_scalar(importer, value, dtype) for value in (lhs, rhs)]
        return _elementwise.emit(importer, function, *operands, hint=hint)

    return convert


_LEFT = _shift(tirx.shift_left, "shift_left")
_RIGHT = _shift(tirx.shift_right, "shift_right")


@_probe.wrong
def _still_wrong() -> bool:
    x = _probe.Input((4,), "int64")
    made = _probe.convert("div.Tensor_mode", x, x, out=((4,), "float32"), rounding_mode=None)
    return made.dtype != "float32"


FIX = Fix(
    id="division",
    what="div with a rounding mode, floor_divide, remainder, pow and shifts of integers",
    op="aten.div, aten.floor_divide, aten.remainder, aten.pow, aten.__lshift__",
    affected="",
    converters={
        "div.Tensor_mode": divide,
        "div.Scalar_mode": divide,
        "floor_divide.default": floor_divide,
        "floor_divide.Scalar": floor_divide,
        "remainder.Scalar_Tensor": reversed_remainder,
        "pow.Tensor_Tensor": power,
        "pow.Tensor_Scalar": power,
        "pow.Scalar": power,
        "__lshift__.Scalar": _LEFT,
        "__lshift__.Tensor": _LEFT,
        "bitwise_left_shift.Tensor": _LEFT,
        "bitwise_left_shift.Tensor_Scalar": _LEFT,
        "__rshift__.Scalar": _RIGHT,
        "__rshift__.Tensor": _RIGHT,
        "bitwise_right_shift.Tensor": _RIGHT,
        "bitwise_right_shift.Tensor_Scalar": _RIGHT,
    },
    probe=_still_wrong,
)
