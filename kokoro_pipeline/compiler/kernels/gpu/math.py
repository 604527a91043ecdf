"""Elementary functions in float32, with their largest errors against float64.

The tests check these bounds. The functions are written as chains of fused multiply-adds: TVM
compiles for Metal with fast math, under which `sin` and `exp` are inaccurate and sums may be
reassociated, but a fused multiply-add is kept.
"""

from __future__ import annotations

import math

from tvm import tirx

from ..common.polynomials import EXP_POLYNOMIAL, LN2_PARTS, LOG2_E, PI_PARTS, SIN_POLYNOMIAL
from .threads import Expr, const, hold


def fma(a: Expr, b: Expr, c: Expr) -> Expr:
    """a * b + c, rounded once."""
    return tirx.call_pure_extern("float32", "fma", a, b, c)


def _horner(x: Expr, coefficients: tuple[float, ...]) -> Expr:
    value: Expr = const(coefficients[0])
    for coefficient in coefficients[1:]:
        value = hold(fma(value, x, const(coefficient)))
    return value


def _reduce(x: Expr, inverse: float, parts: tuple[float, ...]) -> tuple[Expr, Expr]:
    """(n, x - n * sum(parts)), where n is x * inverse rounded to an integer, as float32."""
    n = hold(tirx.floor(fma(x, const(inverse), const(0.5))))
    for part in parts:
        x = hold(fma(n, const(-part), x))
    return n, x


def exp(x: Expr) -> Expr:
    """e^x, relative error 1.5e-7. x is clamped to [-87, 88], so that the result is finite."""
    n, r = _reduce(hold(tirx.max(tirx.min(x, const(88)), const(-87))), LOG2_E, LN2_PARTS)
    p = _horner(r, EXP_POLYNOMIAL)
    mantissa = hold(fma(p, hold(r * r), r) + const(1))
    exponent = tirx.Cast("int32", n) + tirx.const(127, "int32")
    bits = tirx.shift_left(exponent, tirx.const(23, "int32"))
    return hold(mantissa * tirx.reinterpret("float32", bits))


def sigmoid(x: Expr) -> Expr:
    """1 / (1 + e^-x), absolute error 1.2e-7."""
    return hold(const(1) / (const(1) + exp(const(0) - x)))


def tanh(x: Expr) -> Expr:
    """Hyperbolic tangent, absolute error 2e-7 (near 0 the relative error is larger)."""
    return hold(const(1) - const(2) / (const(1) + exp(const(2) * x)))


def gelu_tanh(x: Expr) -> Expr:
    """x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))), absolute error 3e-7 * max(1, |x|)."""
    x = hold(x)
    slope = 2.0 * math.sqrt(2.0 / math.pi)
    cubic = hold(fma(x * x, const(0.044715 * slope), const(slope)))
    return hold(x * sigmoid(cubic * x))


def _sine_to_sign(x: Expr) -> tuple[Expr, Expr]:
    """(n, s) with sin(x) = (-1)^n s."""
    n, r = _reduce(hold(x), 1.0 / math.pi, PI_PARTS)
    z = hold(r * r)
    return n, hold(fma(r * z, _horner(z, SIN_POLYNOMIAL), r))


def sin(x: Expr) -> Expr:
    """sin x for |x| <= 1e4: absolute error 1.5e-7."""
    n, s = _sine_to_sign(x)
    odd = tirx.bitwise_and(tirx.Cast("int32", n), tirx.const(1, "int32"))
    sign = tirx.shift_left(odd, tirx.const(31, "int32"))
    return hold(tirx.reinterpret("float32", tirx.bitwise_xor(tirx.reinterpret("int32", s), sign)))


def sin_squared(x: Expr) -> Expr:
    """sin^2 x for |x| <= 1e4: absolute error 2.5e-7. The sign of sin x is not needed."""
    _, s = _sine_to_sign(x)
    return hold(s * s)
