"""Standard normals of counters and a key as expressions; `kokoro_pipeline.normals` defines them.

The quantile is sqrt(2) erfinv(x), by M. Giles, "Approximating the erfinv function" (2010), with an
absolute error of 2e-6 in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tvm import tirx

from kokoro_pipeline.normals import MULTIPLIERS, ROUNDS, WEYL

from .builder import Expr
from .elementary import Arithmetic, flipped, polynomial
from .polynomials import LN2_PARTS, LOG_POLYNOMIAL

CENTRE = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
"""erfinv(x) / x as a polynomial of w - 2.5 with w = -ln(1 - x^2), for w < 5."""
TAIL = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)
"""The same as a polynomial of sqrt(w) - 3, for the others."""


@dataclass(frozen=True)
class Words:
    """Unsigned integers, as many at a time as `lanes`; `hold` binds those of a dtype."""

    lanes: int
    hold: Callable[[Expr, str], Expr]

    def dtype(self, bits: int) -> str:
        return f"uint{bits}" if self.lanes == 1 else f"uint{bits}x{self.lanes}"

    def const(self, value: int, bits: int = 32) -> Expr:
        return self.splat(tirx.const(value, f"uint{bits}"))

    def splat(self, scalar: Expr) -> Expr:
        return scalar if self.lanes == 1 else tirx.Broadcast(scalar, self.lanes)

    def product(self, a: Expr, factor: int) -> tuple[Expr, Expr]:
        """The upper and the lower 32 bits of a product."""
        wide = tirx.Cast(self.dtype(64), a) * self.const(factor, 64)
        wide = self.hold(wide, "uint64")
        upper = tirx.shift_right(wide, self.const(32, 64))
        return tirx.Cast(self.dtype(32), upper), tirx.Cast(self.dtype(32), wide)


def round_keys(key: Sequence[Expr]) -> list[tuple[Expr, Expr]]:
    """The keys of all rounds, from two scalars of 32 bits without sign."""

    def of_round(number: int, word: int) -> Expr:
        return key[word] + tirx.const(WEYL[word] * number & 0xFFFFFFFF, "uint32")

    return [(of_round(number, 0), of_round(number, 1)) for number in range(ROUNDS)]


def philox(words: Words, counter: Expr, keys: Sequence[tuple[Expr, Expr]]) -> list[Expr]:
    """The four words of the counters (counter, 0, 0, 0); `keys` are those of `round_keys`."""
    zero = words.const(0)
    c = [counter, zero, zero, zero]
    for first_key, second_key in keys:
        first = words.product(c[0], MULTIPLIERS[0])
        second = words.product(c[2], MULTIPLIERS[1])
        mixed = [
            tirx.bitwise_xor(tirx.bitwise_xor(second[0], c[1]), words.splat(first_key)),
            second[1],
            tirx.bitwise_xor(tirx.bitwise_xor(first[0], c[3]), words.splat(second_key)),
            first[1],
        ]
        c = [words.hold(word, "uint32") for word in mixed]
    return c


def _log(m: Arithmetic, x: Expr) -> Expr:
    """ln x for positive, finite and normal x: relative error 2e-7, and exactly 0 for 1.

    x = 2^n (1 + r), with 1 + r between sqrt(1/2) and sqrt(2).
    """
    bits = m.bits_of(m.name(x))
    # 0x3f3504f3 is sqrt(1/2): counted from there, the exponent changes at the bounds of 1 + r.
    above = tirx.shift_right(bits - m.integer(0x3F3504F3), m.integer(23))
    n = m.name(m.from_integer(above))
    r = m.name(m.from_bits(bits - tirx.shift_left(above, m.integer(23))) - m.const(1.0))
    z = m.name(r * r)
    tail = m.step(m.fma(n, m.const(LN2_PARTS[1]), m.step(r * z) * polynomial(m, r, LOG_POLYNOMIAL)))
    rest = m.step(m.fma(z, m.const(-0.5), tail))
    return m.name(m.fma(n, m.const(LN2_PARTS[0]), m.step(r + rest)))


def normal(m: Arithmetic, word: Expr) -> Expr:
    """The standard normal of a word, which is given as an integer of the arithmetic."""
    number = m.from_integer(tirx.bitwise_and(word, m.integer(0x7FFFFFFF)))
    # Twice the probability of the tail: in (0, 1].
    p = m.name(m.fma(number, m.const(2.0**-31), m.const(2.0**-32)))
    x = m.name(m.const(1.0) - p)
    w = m.name(m.const(0.0) - _log(m, p * m.step(m.const(2.0) - p)))
    centre = polynomial(m, m.name(w - m.const(2.5)), CENTRE)
    root = m.name(tirx.sqrt(w) - m.const(3.0))
    shape = m.name(tirx.Select(w < m.const(5.0), centre, polynomial(m, root, TAIL)))
    size = m.name(shape * m.step(x * m.const(math.sqrt(2.0))))
    return flipped(m, size, tirx.shift_right(word, m.integer(31)))
