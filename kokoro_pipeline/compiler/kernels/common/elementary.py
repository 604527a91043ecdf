"""The elementary functions, written once, with their largest errors against float64.

They are formulas over a small arithmetic, which every place that computes them implements: the
vectors of a CPU, the threads of a GPU, and scalar expressions for Relax's operators. The tests
check the bounds for each. NaN stays NaN where the arithmetic clamps so.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar

from tvm import tirx

from .builder import Expr
from .polynomials import EXP_POLYNOMIAL, LN2_PARTS, LOG2_E, PI_PARTS, SIN_POLYNOMIAL


class Arithmetic(ABC):
    """Floating-point numbers of `bits` bits as expressions, and integers of the same width."""

    bits: ClassVar[int] = 32
    pi_parts: ClassVar[tuple[float, ...]] = PI_PARTS
    """Summands of pi; the first ones have few significant bits, so that n times them is exact."""
    sin_polynomial: ClassVar[tuple[float, ...]] = SIN_POLYNOMIAL
    """P in sin x = (-1)^n (r + r z P(z)) with r = x - n pi and z = r^2."""

    @abstractmethod
    def const(self, value: float) -> Expr: ...

    @abstractmethod
    def integer(self, value: int) -> Expr: ...

    @abstractmethod
    def to_integer(self, x: Expr) -> Expr: ...

    @abstractmethod
    def from_integer(self, x: Expr) -> Expr: ...

    @abstractmethod
    def bits_of(self, x: Expr) -> Expr:
        """The representation of a number, as an integer."""

    @abstractmethod
    def from_bits(self, bits: Expr) -> Expr: ...

    @abstractmethod
    def fma(self, a: Expr, b: Expr, c: Expr) -> Expr:
        """a * b + c, rounded once where the target can."""

    @abstractmethod
    def nearest(self, x: Expr, factor: float) -> Expr:
        """The integer that is nearest to x * factor, as a number."""

    @abstractmethod
    def clamp(self, x: Expr, low: float, high: float) -> Expr: ...

    @abstractmethod
    def name(self, value: Expr) -> Expr:
        """A value that is used more than once, or the end of a long formula."""

    @abstractmethod
    def step(self, value: Expr) -> Expr:
        """An intermediate result that is used once."""


def polynomial(m: Arithmetic, x: Expr, coefficients: tuple[float, ...]) -> Expr:
    """A polynomial by Horner's rule, its highest coefficient first."""
    value = m.const(coefficients[0])
    for coefficient in coefficients[1:]:
        value = m.step(m.fma(value, x, m.const(coefficient)))
    return value


def _without(m: Arithmetic, x: Expr, n: Expr, parts: tuple[float, ...]) -> Expr:
    """x - n * sum(parts); the parts are subtracted one by one, which keeps the result accurate."""
    *first, last = parts
    for part in first:
        x = m.step(m.fma(n, m.const(-part), x))
    return m.name(m.fma(n, m.const(-last), x))


def _power(m: Arithmetic, x: Expr) -> tuple[Expr, Expr]:
    """The numbers p and s, a power of two, in e^x = (1 + p) s, for x in [-87, 88]."""
    n = m.name(m.nearest(x, LOG2_E))
    r = _without(m, x, n, LN2_PARTS)
    p = m.step(m.fma(polynomial(m, r, EXP_POLYNOMIAL), m.step(r * r), r))
    exponent = tirx.shift_left(m.to_integer(n) + m.integer(127), m.integer(23))
    return p, m.from_bits(exponent)


def exp(m: Arithmetic, x: Expr) -> Expr:
    """e^x, relative error 1.5e-7. x is clamped to [-87, 88], so that the result is finite."""
    p, scale = _power(m, m.name(m.clamp(x, -87.0, 88.0)))
    return m.name(m.step(p + m.const(1.0)) * scale)


def sigmoid(m: Arithmetic, x: Expr) -> Expr:
    """1 / (1 + e^-x), absolute error 1.2e-7."""
    return m.name(m.const(1.0) / (m.const(1.0) + exp(m, m.const(0.0) - x)))


def tanh(m: Arithmetic, x: Expr) -> Expr:
    """Hyperbolic tangent z / (z + 2) with z = e^2x - 1, relative error 2.5e-7.

    From 1 - 2 / (1 + e^2x), small numbers would lose their digits.
    """
    p, power = _power(m, m.name(m.clamp(x + x, -40.0, 40.0)))
    scale = m.name(power)
    z = m.name(m.fma(p, scale, m.step(scale - m.const(1.0))))
    return m.name(z / (z + m.const(2.0)))


def gelu_tanh(m: Arithmetic, x: Expr) -> Expr:
    """x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))), absolute error 3e-7 * max(1, |x|)."""
    x = m.name(x)
    slope = 2.0 * math.sqrt(2.0 / math.pi)
    cubic = m.step(m.fma(x * x, m.const(0.044715 * slope), m.const(slope)))
    return m.name(x * sigmoid(m, cubic * x))


def _sine(m: Arithmetic, r: Expr) -> Expr:
    """sin r for |r| <= pi / 2."""
    z = m.name(r * r)
    return m.name(m.fma(m.step(r * z), polynomial(m, z, m.sin_polynomial), r))


def flipped(m: Arithmetic, s: Expr, count: Expr) -> Expr:
    """(-1)^count s."""
    sign = tirx.shift_left(tirx.bitwise_and(count, m.integer(1)), m.integer(m.bits - 1))
    return m.name(m.from_bits(tirx.bitwise_xor(m.bits_of(s), sign)))


def sin(m: Arithmetic, x: Expr) -> Expr:
    """sin x: for |x| <= 1e4 an absolute error of 1.5e-7; in float64 3e-16 for |x| <= 1e6."""
    x = m.name(x)
    n = m.name(m.nearest(x, 1.0 / math.pi))
    return flipped(m, _sine(m, _without(m, x, n, m.pi_parts)), m.to_integer(n))


def cos(m: Arithmetic, x: Expr) -> Expr:
    """cos x for |x| <= 1e4, absolute error 1.5e-7.

    Computed as (-1)^(n + 1) sin(x - (n + 1/2) pi) with n = floor(x / pi).
    """
    x = m.name(x)
    n = m.name(tirx.floor(x * m.const(1.0 / math.pi)))
    r = _without(m, x, m.name(n + m.const(0.5)), m.pi_parts)
    return flipped(m, _sine(m, r), m.to_integer(n) + m.integer(1))


def sin_squared(m: Arithmetic, x: Expr, turns: Expr) -> Expr:
    """sin^2(pi x turns), absolute error 2.5e-7 for |x turns| <= 3e3 where `fma` rounds once.

    The product is taken modulo 1 before it is rounded. The sign of the sine is not needed.
    """
    x, turns = m.name(x), m.name(turns)
    n = m.name(m.nearest(m.step(x * turns), 1.0))
    s = _sine(m, m.name(m.fma(x, turns, m.const(0.0) - n) * m.const(math.pi)))
    return m.name(s * s)
