"""Elementary functions on vectors, with their largest errors against float64.

The tests check these bounds. Each function takes the target and a float32 vector expression and
emits straight-line code. Arguments that are used more than once are bound first, and results are
held (see `VectorTarget.hold`). NaN stays NaN.
"""

from __future__ import annotations

import math

from tvm import tirx

from ..common.builder import Expr, bind
from ..common.polynomials import EXP_POLYNOMIAL, LN2_PARTS, LOG2_E, PI_PARTS, SIN_POLYNOMIAL
from .vector import VectorTarget


def clamp(target: VectorTarget, x: Expr, low: float, high: float) -> Expr:
    """Clamp x to [low, high]. NaN is kept, since max(a, b) is `a > b ? a : b` and x is b."""
    return bind(tirx.min(target.splat(high), bind(tirx.max(target.splat(low), x))))


def _horner(target: VectorTarget, x: Expr, coefficients: tuple[float, ...]) -> Expr:
    value = target.splat(coefficients[0])
    for coefficient in coefficients[1:]:
        value = bind(value * x + target.splat(coefficient))
    return value


def _reduce(
    target: VectorTarget, x: Expr, inverse: float, parts: tuple[float, ...]
) -> tuple[Expr, Expr]:
    """(n, x - n * sum(parts)), where n is x * inverse rounded to an integer, as float32."""
    n = bind(tirx.nearbyint(x * target.splat(inverse)))
    for part in parts:
        x = bind(x - n * target.splat(part))
    return n, x


def exp(target: VectorTarget, x: Expr) -> Expr:
    """e^x, relative error 1.2e-7. x is clamped to [-87, 88], so that the result is finite."""
    n, r = _reduce(target, target.hold(clamp(target, x, -87.0, 88.0)), LOG2_E, LN2_PARTS)
    p = _horner(target, r, EXP_POLYNOMIAL)
    mantissa = bind(p * bind(r * r) + r + target.splat(1.0))
    whole = tirx.Cast(f"int32x{target.lanes}", n)
    bits = tirx.shift_left(whole + target.splat(127, "int32"), target.splat(23, "int32"))
    return target.hold(mantissa * tirx.reinterpret(target.type, bits))


def sigmoid(target: VectorTarget, x: Expr) -> Expr:
    """1 / (1 + e^-x), absolute error 1.2e-7."""
    one = target.splat(1.0)
    return target.hold(one / (one + exp(target, target.splat(0.0) - x)))


def tanh(target: VectorTarget, x: Expr) -> Expr:
    """Hyperbolic tangent, absolute error 2e-7 (near 0 the relative error is larger)."""
    x = target.hold(x)
    one = target.splat(1.0)
    return target.hold(one - target.splat(2.0) / (one + exp(target, x + x)))


def gelu_tanh(target: VectorTarget, x: Expr) -> Expr:
    """x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))), absolute error 3e-7 * max(1, |x|)."""
    x = target.hold(x)
    slope = 2.0 * math.sqrt(2.0 / math.pi)
    cubic = bind(x * x * target.splat(0.044715 * slope) + target.splat(slope))
    return target.hold(x * sigmoid(target, cubic * x))


def _sine_to_sign(target: VectorTarget, x: Expr) -> tuple[Expr, Expr]:
    """(n, s) with sin(x) = (-1)^n s."""
    n, r = _reduce(target, target.hold(x), 1.0 / math.pi, PI_PARTS)
    z = bind(r * r)
    return n, target.hold(r + bind(r * z) * _horner(target, z, SIN_POLYNOMIAL))


def sin(target: VectorTarget, x: Expr) -> Expr:
    """sin x for |x| <= 1e4: absolute error 1.5e-7."""
    n, s = _sine_to_sign(target, x)
    integers = f"int32x{target.lanes}"
    odd = tirx.bitwise_and(tirx.Cast(integers, n), target.splat(1, "int32"))
    sign = tirx.shift_left(odd, target.splat(31, "int32"))
    return bind(
        tirx.reinterpret(target.type, tirx.bitwise_xor(tirx.reinterpret(integers, s), sign))
    )


def sin_squared(target: VectorTarget, x: Expr) -> Expr:
    """sin^2 x for |x| <= 1e4: absolute error 2.5e-7. The sign of sin x is not needed."""
    _, s = _sine_to_sign(target, x)
    return target.hold(s * s)
