"""exp(x), exp(x) - 1, log(1 + x) and atanh(x) of expressions, with the digits of small numbers.

LLVM computes the elements of a vector one by one where it calls a function of the C library. In
float32 the formulas consist of sums, products, comparisons and operations on bits instead, which it
vectorizes; the polynomials are minimax ones (Remez' algorithm). In float64 they are series near
zero, and call the C library far from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import tirx
from tvm_kokoro_ext._fixes._shared import steps

_LOG2_E = 1.4426950408889634
#: ln 2 in two summands. The first has ten bits, so that its product with an exponent is exact.
_LN2 = (0.693359375, -2.12194440054690583e-4)
#: P in exp(r) = 1 + r + r² · P(r) for |r| < 0.347, from the highest power on. The error of
#: r + r² · P(r), as an approximation of exp(r) - 1, is 1.3e-8 of its value.
_EXP = (1.388251518e-3, 8.36659557e-3, 4.166720216e-2, 1.666654307e-1, 4.999999814e-1)
#: P in log(1 + f) = f - f² / 2 + f³ · P(f) for 1 + f from sqrt(1/2) to sqrt(2), with 5.8e-9.
_LOG = (
    -7.635487903e-2,
    1.276316387e-1,
    -1.316056919e-1,
    1.420157626e-1,
    -1.662330232e-1,
    2.000123251e-1,
    -2.500082259e-1,
    3.333333167e-1,
)
_SQRT_HALF = 0x3F3504F3  # the bits of sqrt(1/2)
_EXPONENT = 23  # the lowest bit of the exponent
_MAGNITUDE = 0x7FFFFFFF  # all bits but the sign
_TINY = 1e-20  # of smaller numbers, exp(x) - 1 and log(1 + x) are x


class _Steps(steps.Steps):
    """Steps of numbers with as many lanes as the argument."""

    def __init__(self, like: Any) -> None:
        super().__init__()
        _, _, self._lanes = _compat.prim_dtype(like).partition("x")

    def number(self, value: float, dtype: str = "float32") -> Any:
        """A constant."""
        made = tirx.const(value, dtype)
        return tirx.Broadcast(made, int(self._lanes)) if self._lanes else made

    def cast(self, dtype: str, value: Any) -> Any:
        return tirx.Cast(self._wide(dtype), value)

    def bits(self, dtype: str, value: Any) -> Any:
        return tirx.reinterpret(self._wide(dtype), value)

    def _wide(self, dtype: str) -> str:
        return f"{dtype}x{self._lanes}" if self._lanes else dtype

    def polynomial(self, x: Any, coefficients: Sequence[float]) -> Any:
        """By Horner's rule, from the highest power on."""
        value = self.number(coefficients[0])
        for coefficient in coefficients[1:]:
            value = value * x + self.number(coefficient)
        return value

    def power(self, x: Any, lowest: float, highest: float) -> tuple[Any, Any]:
        """p and an int32 n of exp(x) = (1 + p) · 2^(n - 256), for x within the bounds.

        p is between -0.293 and 0.415. x beyond the bounds is taken to be there, and NaN too.
        """
        number = self.number
        x = self.name(tirx.max(tirx.min(x, number(highest)), number(lowest)))
        # Positive numbers are rounded down by a conversion, so that this is the nearest.
        n = self.name(self.cast("int32", x * number(_LOG2_E) + number(256.5)))
        whole = self.name(self.cast("float32", n) - number(256.0))
        high, low = _LN2
        r = self.name((x - whole * number(high)) - whole * number(low))
        return self.name(r + r * r * self.polynomial(r, _EXP)), n

    def scale(self, n: Any, offset: int) -> Any:
        """2^(n - 256 + offset)."""
        exponent = n - self.number(256 - 127 - offset, "int32")
        return self.bits("float32", tirx.shift_left(exponent, self.number(_EXPONENT, "int32")))


def expm1(x: Any) -> Any:
    """exp(x) - 1 of a float32 or float64 expression, in float32 within two ulps."""
    if not _is_single(x):
        return _expm1_of_double(x)
    names = _Steps(x)
    number = names.number
    x = names.name(x)
    p, n = names.power(x, -20.0, 89.0)
    # Computed by halves, as the largest numbers are (1 + p) · 2^128 with a negative p.
    half = names.name(names.scale(n, -1))
    result = (half * p + (half - number(0.5))) * number(2.0)
    return names.within(tirx.Select(tirx.abs(x) > number(_TINY), result, x))  # NaN and -0 are x


def exp_of_negative(x: Any) -> Any:
    """exp(x) of a float32 or float64 expression that is not positive, in float32 within 1.1 ulps.

    The result for NaN is a number.
    """
    if not _is_single(x):
        return tirx.exp(x)
    names = _Steps(x)
    p, n = names.power(x, -105.0, 0.0)
    # Of a result below the smallest normal number, only this product is rounded to fewer digits.
    scale = names.name(names.scale(n, 64))
    return names.within((scale * p + scale) * names.number(2.0**-64))


def log1p(x: Any) -> Any:
    """log(1 + x) of a float32 or float64 expression, in float32 within an ulp and a half.

    With 1 + x = (1 + f) · 2^k, f is x · 2^-k + (2^-k - 1). Both terms are exact, so that the
    rounding of 1 + x matters for the choice of k only. TVM simplifies Kahan's (1 + x) - 1 to x.
    """
    if not _is_single(x):
        return _log1p_of_double(x)
    names = _Steps(x)
    number = names.number
    x = names.name(x)
    place = number(_EXPONENT, "int32")
    bits = names.bits("int32", x + number(1.0)) - number(_SQRT_HALF, "int32")
    k = names.name(tirx.shift_right(bits, place))
    # Four times 2^-k is a normal number for each k up to 128.
    fourfold = names.name(names.bits("float32", tirx.shift_left(number(129, "int32") - k, place)))
    quarter = number(0.25)
    f = names.name((x * quarter) * fourfold + (fourfold * quarter - number(1.0)))
    square = names.name(f * f)
    whole = names.name(names.cast("float32", k))
    high, low = _LN2
    rest = square * f * names.polynomial(f, _LOG) - square * number(0.5)
    result = whole * number(high) + (f + (rest + whole * number(low)))
    # Numbers next to zero, infinity and NaN are their own result.
    edge = tirx.Select(tirx.EQ(x, number(-1.0)), number(-math.inf), x)
    edge = tirx.Select(x < number(-1.0), number(math.nan), edge)
    inside = tirx.all(tirx.abs(x) > number(_TINY), x > number(-1.0), x < number(math.inf))
    return names.within(tirx.Select(inside, result, edge))


def atanh(x: Any) -> Any:
    """The inverse of tanh of a float32 expression, within two ulps and a half.

    With t = |x| it is log(1 + 2t / (1 - t)) / 2, where only two roundings precede the logarithm,
    which makes no relative error larger. 1 gives infinity, and the logarithm is NaN beyond.
    """
    names = _Steps(x)
    number = names.number
    bits = names.name(names.bits("int32", x))
    size = tirx.bitwise_and(bits, number(_MAGNITUDE, "int32"))
    size = names.name(names.bits("float32", size))
    half = log1p((size + size) / (number(1.0) - size)) * number(0.5)
    sign = tirx.bitwise_and(bits, number(~_MAGNITUDE, "int32"))
    return names.within(names.bits("float32", tirx.bitwise_or(names.bits("int32", half), sign)))


def _is_single(x: Any) -> bool:
    return _compat.prim_dtype(x).partition("x")[0] == "float32"


def _of_double(value: float) -> Any:
    return tirx.const(value, "float64")


def _log1p_of_double(x: Any) -> Any:
    """Near zero 2 · atanh(s) with s = x / (2 + x), by the series of atanh.

    (Abramowitz and Stegun, 4.1.27.) Eleven terms are exact to float64 up to |x| = 0.3, from where
    on the rounding of 1 + x is below two units in the last place of the logarithm.
    """
    s = x / (x + _of_double(2))
    square = s * s
    series = _of_double(1 / 21)
    for power in range(19, 0, -2):
        series = series * square + _of_double(1 / power)
    near = tirx.abs(x) < _of_double(0.3)
    return tirx.Select(near, _of_double(2) * s * series, tirx.log(_of_double(1) + x))


def _expm1_of_double(x: Any) -> Any:
    """Near zero the Taylor series, of which 16 terms are exact to float64 up to |x| = 0.5."""
    one = _of_double(1)
    series = one
    for divisor in range(16, 1, -1):
        series = one + series * x * _of_double(1 / divisor)
    near = tirx.abs(x) < _of_double(0.5)
    return tirx.Select(near, x * series, tirx.exp(x) - one)
