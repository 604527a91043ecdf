"""The arithmetic of a GPU's threads, in which the elementary functions are computed.

It consists of fused multiply-adds: TVM compiles for Metal with fast math, under which `sin` and
`exp` are inaccurate and sums may be reassociated, but a fused multiply-add is kept.
"""

from __future__ import annotations

from tvm import tirx

from ..common.elementary import Arithmetic
from .threads import Expr, const, hold


def fma(a: Expr, b: Expr, c: Expr) -> Expr:
    """a * b + c, rounded once."""
    return tirx.call_pure_extern("float32", "fma", a, b, c)


class Scalars(Arithmetic):
    """float32 numbers of one thread; results are held in registers (see `threads.hold`)."""

    def const(self, value: float) -> Expr:
        return const(value)

    def integer(self, value: int) -> Expr:
        return tirx.const(value, "int32")

    def to_integer(self, x: Expr) -> Expr:
        return tirx.Cast("int32", x)

    def from_integer(self, x: Expr) -> Expr:
        return tirx.Cast("float32", x)

    def bits_of(self, x: Expr) -> Expr:
        return tirx.reinterpret("int32", x)

    def from_bits(self, bits: Expr) -> Expr:
        return tirx.reinterpret("float32", bits)

    def fma(self, a: Expr, b: Expr, c: Expr) -> Expr:
        return fma(a, b, c)

    def nearest(self, x: Expr, factor: float) -> Expr:
        return tirx.floor(fma(x, const(factor), const(0.5)))

    def clamp(self, x: Expr, low: float, high: float) -> Expr:
        # CUDA's min and max take the other operand for a NaN, which comparisons leave alone.
        return tirx.Select(x > const(high), const(high), tirx.Select(x < const(low), const(low), x))

    def name(self, value: Expr) -> Expr:
        return hold(value)

    def step(self, value: Expr) -> Expr:
        return hold(value)


SCALARS = Scalars()
