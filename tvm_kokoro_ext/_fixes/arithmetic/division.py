"""Division with a rounding mode, floor division and integer powers, for all dtypes.

Stock uses a different dtype for a scalar divisor, divides integers as integers where torch does
not round, and only supports integer powers with small constant exponents. Its float remainder and
floor division use the rounded quotient, and are off by one divisor if rounding makes it an integer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import T, relax, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import elementwise, indexing, loops, promotion


def divide(importer: Any, node: Any, previous: Any) -> Any:
    lhs, rhs = importer.retrieve_args(node)[:2]
    mode = node.kwargs.get("rounding_mode")
    name = "div.Tensor" if mode is None else "floor_divide.default"
    dtype = promotion.common_dtype(importer, name, lhs, rhs)
    lhs, rhs = (_emit.tensor_or_scalar(importer, value, dtype) for value in (lhs, rhs))
    if mode is None:
        return _emit.emit(importer, relax.op.divide(lhs, rhs))
    if mode == "floor":
        return _floor(importer, lhs, rhs, dtype)
    if "int" in dtype:  # Relax divides integers towards 0
        return _emit.emit(importer, relax.op.divide(lhs, rhs))
    return _emit.emit(importer, relax.op.trunc(_emit.emit(importer, relax.op.divide(lhs, rhs))))


def floor_divide(importer: Any, node: Any, previous: Any) -> Any:
    lhs, rhs = importer.retrieve_args(node)[:2]
    if not any(_compat.is_tensor(value) for value in (lhs, rhs)):
        return previous(node)
    dtype = promotion.common_dtype(importer, "floor_divide.default", lhs, rhs)
    lhs, rhs = (_emit.tensor_or_scalar(importer, value, dtype) for value in (lhs, rhs))
    return _floor(importer, lhs, rhs, dtype)


def _floor(importer: Any, lhs: Any, rhs: Any, dtype: str) -> Any:
    """Floor division in one dtype; floats are divided by torch's rule (see `_float_floor`)."""
    if "int" in dtype or _is_power_of_two(rhs):  # the quotient of floats is exact
        return _emit.emit(importer, relax.op.floor_divide(lhs, rhs))
    return _in_float(importer, _float_floor, lhs, rhs, dtype, "floor_divide")


def remainder(importer: Any, node: Any, previous: Any) -> Any:
    """The remainder with the sign of the divisor, exact as in torch."""
    lhs, rhs = importer.retrieve_args(node)[:2]
    if not any(_compat.is_tensor(value) for value in (lhs, rhs)):
        return previous(node)
    dtype = promotion.common_dtype(importer, "remainder.Tensor", lhs, rhs)
    lhs, rhs = (_emit.tensor_or_scalar(importer, value, dtype) for value in (lhs, rhs))
    if "int" in dtype or _is_power_of_two(rhs):
        return _emit.emit(importer, relax.op.floor_mod(lhs, rhs))
    return _in_float(importer, _float_remainder, lhs, rhs, dtype, "remainder")


def _is_power_of_two(divisor: Any) -> bool:
    """Whether a tensor is a constant power of two, so that quotients are exact."""
    value = _compat.constant_value(divisor)
    return value is not None and value.size == 1 and abs(math.frexp(float(value))[0]) == 0.5


def _in_float(importer: Any, function: Any, lhs: Any, rhs: Any, dtype: str, hint: str) -> Any:
    """Apply `function` to two floats; 16-bit floats are computed in float32, as in torch."""
    wide = "float32" if dtype in ("float16", "bfloat16") else dtype
    lhs, rhs = (_emit.astype(importer, value, wide) for value in (lhs, rhs))
    result = elementwise.emit(importer, function, lhs, rhs, hint=hint)
    return _emit.astype(importer, result, dtype)


def _float_remainder(a: Any, b: Any) -> Any:
    """The truncated remainder, moved to the sign of b; a - floor(a / b) * b would round twice."""
    zero = tirx.const(0.0, str(a.dtype))
    rest = tirx.truncmod(a, b)
    return tirx.if_then_else(_differ_in_sign(rest, b, zero), rest + b, rest)


def _float_floor(a: Any, b: Any) -> Any:
    """The floor of the exact quotient, as (a - truncmod(a, b)) / b is exact and a / b is not."""
    zero, one, half = (tirx.const(v, str(a.dtype)) for v in (0.0, 1.0, 0.5))
    rest = tirx.truncmod(a, b)
    quotient = (a - rest) / b
    quotient = tirx.if_then_else(_differ_in_sign(rest, b, zero), quotient - one, quotient)
    down = tirx.floor(quotient)
    whole = tirx.if_then_else(quotient - down > half, down + one, down)
    return tirx.if_then_else(b == zero, a / b, whole)


def _differ_in_sign(rest: Any, b: Any, zero: Any) -> Any:
    return tirx.any(tirx.all(b < zero, rest > zero), tirx.all(b > zero, rest < zero))


def power(importer: Any, node: Any, previous: Any) -> Any:
    """Powers of integers; and ±0.5, which PyTorch computes as a root: other at -0 and -∞."""
    base, exponent = importer.retrieve_args(node)[:2]
    if _compat.is_tensor(base) and isinstance(exponent, float) and abs(exponent) == 0.5:
        wide = _emit.astype(importer, base, _emit.result_dtype(importer, node) or "float32")
        return _emit.emit(importer, (relax.op.sqrt if exponent > 0 else relax.op.rsqrt)(wide))
    if not any(_compat.is_tensor(value) for value in (base, exponent)):
        return previous(node)
    dtype = promotion.common_dtype(importer, "pow.Tensor_Tensor", base, exponent)
    if dtype == "bool" and not isinstance(exponent, bool):
        dtype = _emit.result_dtype(importer, node) or "int64"
    elif dtype != "bool" and isinstance(exponent, bool):
        exponent = int(exponent)
    if "int" not in dtype or (
        _compat.is_tensor(base)
        and _compat.dtype_of(base) == dtype
        and isinstance(exponent, int)
        and 0 <= exponent <= 8
    ):
        return previous(_emit.view(node, base, exponent))
    width = int(dtype.partition("int")[2])
    bits = exponent.bit_length() if isinstance(exponent, int) and exponent >= 0 else width
    base, exponent = (_emit.tensor_or_scalar(importer, v, dtype) for v in (base, exponent))
    return _integer_power(importer, base, exponent, min(bits, width - 2), width)


def _integer_power(importer: Any, base: Any, exponent: Any, bits: int, width: int) -> Any:
    """base ** exponent modulo 2^width by squaring; negative exponents give 1/base, truncated.

    Powers of an odd number repeat after 2^(width - 2) exponents, so that no more bits of the
    exponent count, and an even number to the power `width` is 0.
    """
    dtype = _compat.dtype_of(base)
    shape = elementwise.broadcast(base, exponent)
    operands = [_emit.emit(importer, relax.op.broadcast_to(x, shape)) for x in (base, exponent)]
    flat = [
        _emit.astype(importer, indexing.flatten(importer, value), "int64") for value in operands
    ]

    def body(dims: Any, result: Any, square: Any, x: Any, number: Any) -> None:
        one, zero = tirx.const(1, "int64"), tirx.const(0, "int64")
        with T.serial(0, dims[0][0]) as i:
            result[i] = one
            square[i] = x[i]
            with T.serial(0, bits) as bit:
                place = tirx.Cast("int64", bit)
                odd = tirx.bitwise_and(tirx.shift_right(number[i], place), one) == one
                result[i] = result[i] * tirx.if_then_else(odd, square[i], one)
                square[i] = square[i] * square[i]
            even = tirx.bitwise_and(x[i], one) == zero
            vanishes = tirx.all(even, number[i] >= tirx.const(width, "int64"))
            sign = tirx.if_then_else(tirx.bitwise_and(number[i], one) == one, x[i], one)
            inverse = tirx.if_then_else(tirx.any(x[i] == one, x[i] == -one), sign, zero)
            whole = tirx.if_then_else(vanishes, zero, result[i])
            result[i] = tirx.if_then_else(number[i] < zero, inverse, whole)

    count = [_emit.extent(shape)]
    results = loops.emit(importer, body, [(count, "int64")] * 2, *flat, hint="integer_power")
    return _emit.astype(importer, _emit.emit(importer, relax.op.reshape(results[0], shape)), dtype)


def _shift(function: Callable[[Any, Any], Any], hint: str) -> Any:
    """A shift by less than 0 or by the width and more leaves no bit but copies of the sign.

    Such a shift is undefined in LLVM.
    """

    def convert(importer: Any, node: Any, previous: Any) -> Any:
        lhs, rhs = importer.retrieve_args(node)[:2]
        dtype = promotion.common_dtype(importer, "bitwise_and.Tensor", lhs, rhs)
        operands = [_emit.tensor_or_scalar(importer, value, dtype) for value in (lhs, rhs)]
        width = int(dtype.partition("int")[2] or 1)

        def shift(x: Any, places: Any) -> Any:
            zero, last = tirx.const(0, dtype), tirx.const(width - 1, dtype)
            outside = tirx.any(places < zero, places > last)
            if hint == "shift_right" and dtype.startswith("int"):
                return function(x, tirx.if_then_else(outside, last, places))
            inside = function(x, tirx.if_then_else(outside, zero, places))
            return tirx.if_then_else(outside, zero, inside)

        return elementwise.emit(importer, shift, *operands, hint=hint)

    return convert


_LEFT = _shift(tirx.shift_left, "shift_left")
_RIGHT = _shift(tirx.shift_right, "shift_right")


@_probe.wrong
def _still_wrong() -> bool:
    x = _probe.Input((4,), "int64")
    made = _probe.convert("div.Tensor_mode", x, x, out=((4,), "float32"), rounding_mode=None)
    return made.dtype != "float32"


@_probe.wrong
def _number_in_front_fails() -> bool:
    x = _probe.Input((4,), "int64")
    made = _probe.convert("div.Tensor_mode", 7, x, out=((4,), "int64"), rounding_mode="floor")
    return made.dtype != "int64"


@_probe.wrong
def _quotient_is_rounded() -> bool:
    """Whether the floor is taken of a / b without correcting its rounding."""
    module = _probe.legalized(relax.op.floor_divide, _probe.Input((4,)), _probe.Input((4,)))
    kernels = [str(f) for name, f in module.functions_items() if name.name_hint != "main"]
    return not any("truncmod" in text or "fmod" in text for text in kernels)


@_probe.wrong
def _exponents_and_shifts_are_cut() -> bool:
    """Whether powers do not read all bits that count, or shifts are not kept within the width."""
    x = _probe.Input((4,), "int64")
    power = _probe.convert("pow.Tensor_Tensor", x, x, out=((4,), "int64"))
    shift = _probe.convert("__lshift__.Tensor", x, x, out=((4,), "int64"))
    reads_all = re.search(r"range\((T\.int64\()?62\)", power.kernels)
    return not reads_all or "if_then_else" not in shift.kernels


FIX = Fix(
    id="division",
    what="floor_divide and remainder of floats near ties; div modes, pow and shifts of integers",
    op="aten.div, aten.floor_divide, aten.remainder, aten.pow, aten.__lshift__",
    affected="",
    converters={
        "div.Tensor_mode": divide,
        "div.Scalar_mode": divide,
        "floor_divide.default": floor_divide,
        "floor_divide.Scalar": floor_divide,
        "remainder.Tensor": remainder,
        "remainder.Scalar": remainder,
        "remainder.Scalar_Tensor": remainder,
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
    probe=_probe.any_of(
        _still_wrong,
        _number_in_front_fails,
        _quotient_is_rounded,
        _exponents_and_shifts_are_cut,
        _probe.lacks("div.Scalar_mode", "floor_divide.Scalar", "remainder.Scalar_Tensor"),
        _probe.lacks("__lshift__.Scalar", "__lshift__.Tensor", "bitwise_left_shift.Tensor"),
        _probe.lacks("__rshift__.Scalar", "__rshift__.Tensor", "bitwise_right_shift.Tensor"),
        _probe.lacks("bitwise_left_shift.Tensor_Scalar", "bitwise_right_shift.Tensor_Scalar"),
    ),
)
