"""Division with a rounding mode, floor division and integer powers, for all dtypes.

Stock uses a different dtype for a scalar divisor, divides integers as integers where torch does
not round, and only supports integer powers with small constant exponents. Its float remainder and
floor division use the rounded quotient, and are off by one divisor if rounding makes it an integer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import T, relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import elementwise, indexing, loops, promotion, steps


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
    """Floor division in one dtype; floats are divided by torch's rule (see `_Floor`)."""
    if "int" in dtype:
        return _emit.emit(importer, relax.op.floor_divide(lhs, rhs))
    return _in_float(importer, _Floor, lhs, rhs, dtype, "floor_divide")


def remainder(importer: Any, node: Any, previous: Any) -> Any:
    """The remainder with the sign of the divisor, exact as in torch."""
    lhs, rhs = importer.retrieve_args(node)[:2]
    if not any(_compat.is_tensor(value) for value in (lhs, rhs)):
        return previous(node)
    dtype = promotion.common_dtype(importer, "remainder.Tensor", lhs, rhs)
    lhs, rhs = (_emit.tensor_or_scalar(importer, value, dtype) for value in (lhs, rhs))
    if "int" in dtype:
        return _emit.emit(importer, relax.op.floor_mod(lhs, rhs))
    return _in_float(importer, _Remainder, lhs, rhs, dtype, "remainder")


def _is_power_of_two(divisor: Any) -> bool:
    """Whether a tensor is a constant power of two, and at least 1: quotients are exact."""
    value = _compat.constant_value(divisor)
    if value is None or value.size != 1:
        return False
    fraction, exponent = math.frexp(float(value))
    return abs(fraction) == 0.5 and exponent > 0


def _in_float(
    importer: Any, division: type[_Division], lhs: Any, rhs: Any, dtype: str, hint: str
) -> Any:
    """Divide two floats; 16-bit floats are computed in float32, as in torch.

    A row is divided without fmod where each of its quotients is short, so that LLVM vectorizes the
    loop. A condition of each element would not help, as LLVM then computes both for all of them,
    nor would one of each row of a symbolic tensor, which LLVM reads again for each element.
    """
    wide = "float32" if dtype in ("float16", "bfloat16") else dtype
    operands = [_emit.astype(importer, value, wide) for value in (lhs, rhs)]
    shape = elementwise.broadcast(*operands)
    is_static = all(_compat.as_int(size) is not None for size in shape)
    is_exact = _is_power_of_two(rhs)

    def compute(out: Any, *data: Any) -> Any:
        def divided(at: Sequence[Any]) -> _Division:
            return division(*(indexing.read(operand, list(at)).asobject() for operand in data))

        if is_exact:
            return te.compute(tuple(out), lambda *at: divided(at).exact(), name=hint)
        if not len(out):
            return te.compute((), lambda: divided(()).long(), name=hint)
        rows = tuple(out)[:-1] if is_static else ()
        places = [te.reduce_axis((0, size), name="place") for size in out[len(rows) :]]
        lengths = te.compute(
            rows,
            lambda *row: te.max(divided([*row, *places]).length(), axis=places),
            name="lengths",
        )

        def element(*at: Any) -> Any:
            length, value = lengths(*at[: len(rows)]), divided(at)
            result = value.long()
            if division.MEDIUM.get(wide):
                result = tirx.if_then_else(length <= _number(1), divided(at).medium(), result)
            return tirx.if_then_else(length <= _number(0), divided(at).short(), result)

        return te.compute(tuple(out), element, name=hint)

    result = _emit.emit_te(importer, compute, shape, *operands, hint=hint)
    return _emit.astype(importer, result, dtype)


def _number(value: int) -> Any:
    return tirx.const(value, "int32")


class _Division:
    """One division of two floats, whose result follows from the remainder.

    A quotient is short if it has at most half of the digits of a float. The divisor is taken as
    the sum of two numbers of half the digits. Their products with the integer part of the quotient
    are exact, and so are the differences from the dividend. Rounding may make the quotient the
    next integer: then the rest has the other sign, as it has where the quotient is negative, and
    the floor is one less.

    A quotient of float32 is medium up to a limit below which float64 has all digits of it: the
    product of its integer part and the divisor is exact, and so is the rest. A remainder needs 53
    digits for both; the floor has to be what PyTorch's own steps in float32 give.
    """

    #: The bits that are cut off for the first half of a number, and the limit of short quotients.
    _HALVES: ClassVar = {"float32": (12, 2.0**12), "float64": (27, 2.0**26)}
    #: The limits of medium quotients.
    MEDIUM: ClassVar[dict[str, float]] = {}

    def __init__(self, dividend: Any, divisor: Any) -> None:
        self._steps = steps.Steps()
        self._dtype = _compat.prim_dtype(dividend)
        self._integer = self._dtype.replace("float", "int")
        self._dividend, self._divisor = map(self._steps.name, (dividend, divisor))

    def length(self) -> Any:
        """0 if the quotient is short and the divisor finite, 1 if it is medium, and otherwise 2."""
        longer = _number(2)
        if self.MEDIUM.get(self._dtype):
            longer = tirx.Select(self._is_below(self.MEDIUM[self._dtype]), _number(1), longer)
        return self._steps.within(tirx.Select(self._is_short(), _number(0), longer))

    def exact(self) -> Any:
        """The result for a divisor that `_is_power_of_two`; NaN for an infinite dividend."""
        name = self._steps.name
        quotient = name(self._dividend / self._divisor)
        whole = name(tirx.trunc(quotient))
        rest = name(self._dividend - whole * self._divisor)
        result = self._of_rest(quotient, whole, rest)
        return self._steps.within(tirx.Select(tirx.isnan(rest), rest, result))

    def short(self) -> Any:
        """The result if the length is 0."""
        return self._steps.within(self._short())

    def medium(self) -> Any:
        """The result if the length is 1 or 0."""
        name, wide = self._steps.name, "float64"
        dividend, divisor = (
            name(tirx.Cast(wide, value)) for value in (self._dividend, self._divisor)
        )
        whole = name(tirx.Cast(wide, tirx.Cast("int32", dividend / divisor)))
        rest = name(tirx.Cast(self._dtype, dividend - whole * divisor))
        quotient = name(self._dividend / self._divisor)
        return self._steps.within(
            self._of_rest(quotient, name(tirx.Cast(self._dtype, whole)), rest)
        )

    def long(self) -> Any:
        """The result for any quotient."""
        name, number = self._steps.name, self._number
        is_short = name(self._is_short())
        short = name(self._short())
        # Of 0 and 1, fmod takes no time.
        dividend = tirx.Select(is_short, number(0.0), self._dividend)
        divisor = tirx.Select(is_short, number(1.0), self._divisor)
        rest = name(tirx.truncmod(dividend, divisor))
        return self._steps.within(tirx.Select(is_short, short, self._of_long(rest)))

    def _is_short(self) -> Any:
        return self._is_below(self._HALVES[self._dtype][1])

    def _is_below(self, bound: float) -> Any:
        """Whether the quotient is below a limit and the divisor finite."""
        limit, infinity = self._number(bound), self._number(math.inf)
        quotient = tirx.abs(self._dividend / self._divisor)
        return tirx.all(quotient < limit, tirx.abs(self._divisor) < infinity)

    def _short(self) -> Any:
        name = self._steps.name
        quotient = name(self._dividend / self._divisor)
        # Rounding towards zero by a conversion takes no call of a function, as floor and trunc may.
        whole = name(tirx.Cast(self._dtype, tirx.Cast("int32", quotient)))
        mask = tirx.const(-(1 << self._HALVES[self._dtype][0]), self._integer)
        bits = name(tirx.reinterpret(self._integer, self._divisor))
        first = name(tirx.reinterpret(self._dtype, tirx.bitwise_and(bits, mask)))
        rest = name((self._dividend - whole * first) - whole * (self._divisor - first))
        return self._of_rest(quotient, whole, rest)

    def _of_rest(self, quotient: Any, whole: Any, rest: Any) -> Any:
        """The result for the rest that the integer part of a quotient leaves."""
        name = self._steps.name
        bits = name(tirx.reinterpret(self._integer, self._divisor))
        # All bits where the signs of the rest and the divisor differ, and none elsewhere.
        differ = tirx.bitwise_xor(tirx.reinterpret(self._integer, rest), bits)
        last = tirx.const(int(self._integer.removeprefix("int")) - 1, self._integer)
        differ = name(tirx.shift_right(differ, last))
        return self._of_short(quotient, whole, rest, bits, differ)

    def _of_short(self, quotient: Any, whole: Any, rest: Any, bits: Any, differ: Any) -> Any:
        raise NotImplementedError

    def _of_long(self, rest: Any) -> Any:
        raise NotImplementedError

    def _number(self, value: float) -> Any:
        return tirx.const(value, self._dtype)

    def _masked(self, bits: Any, mask: Any) -> Any:
        return tirx.reinterpret(self._dtype, tirx.bitwise_and(bits, mask))

    def _differ_in_sign(self, rest: Any) -> Any:
        zero, divisor = self._number(0.0), self._divisor
        return tirx.any(
            tirx.all(divisor < zero, rest > zero), tirx.all(divisor > zero, rest < zero)
        )


class _Remainder(_Division):
    """The truncated remainder, moved to the sign of b; a - floor(a / b) * b would round twice."""

    MEDIUM: ClassVar = {"float32": 2.0**28}

    def _of_short(self, quotient: Any, whole: Any, rest: Any, bits: Any, differ: Any) -> Any:
        dividend = tirx.reinterpret(self._integer, self._dividend)
        nothing = self._masked(dividend, tirx.min_value(self._integer))  # a zero with its sign
        moved = rest + self._masked(bits, differ)
        return tirx.Select(tirx.EQ(rest, self._number(0.0)), nothing, moved)

    def _of_long(self, rest: Any) -> Any:
        return tirx.Select(self._differ_in_sign(rest), rest + self._divisor, rest)


class _Floor(_Division):
    """The floor of the exact quotient, as (a - truncmod(a, b)) / b is exact and a / b is not."""

    MEDIUM: ClassVar = {"float32": 2.0**22}

    def _of_short(self, quotient: Any, whole: Any, rest: Any, bits: Any, differ: Any) -> Any:
        zero = self._number(0.0)
        one = tirx.reinterpret(self._integer, self._number(1.0))
        less = whole - self._masked(one, differ)
        floor = tirx.Select(tirx.EQ(rest, zero), whole, less)
        return tirx.Select(tirx.EQ(self._dividend, zero), quotient, floor)  # a zero with its sign

    def _of_long(self, rest: Any) -> Any:
        name, number = self._steps.name, self._number
        quotient = (self._dividend - rest) / self._divisor
        less = quotient - number(1.0)
        quotient = name(tirx.Select(self._differ_in_sign(rest), less, quotient))
        down = name(tirx.floor(quotient))
        floor = name(tirx.Select(quotient - down > number(0.5), down + number(1.0), down))
        is_zero = tirx.any(*(tirx.EQ(value, number(0.0)) for value in (self._divisor, floor)))
        return tirx.Select(is_zero, self._dividend / self._divisor, floor)


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
        "bitwise_left_shift.Scalar_Tensor": _LEFT,
        "__rshift__.Scalar": _RIGHT,
        "__rshift__.Tensor": _RIGHT,
        "bitwise_right_shift.Tensor": _RIGHT,
        "bitwise_right_shift.Tensor_Scalar": _RIGHT,
        "bitwise_right_shift.Scalar_Tensor": _RIGHT,
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
        _probe.lacks("bitwise_left_shift.Scalar_Tensor", "bitwise_right_shift.Scalar_Tensor"),
    ),
)
