"""Fixed-point arithmetic with 64-bit integers, for devices without float64.

A number x is represented by the int64 nearest to x * 2^n; "Q62" means n = 62. Integer arithmetic is
exact, wraps around like phases do, and is not affected by a compiler's fast math. Errors are given
in units of the result.
"""

from __future__ import annotations

import math

from tvm import tirx

from ..common.builder import i64
from .threads import Expr, T, const, hold, i32, registers, store

ONE = 62
"""Fraction bits of Q62, for numbers in [-2, 2); sine, exponential and tanh use this format."""

_QUARTER_TURN = [
    (-1) ** i * (math.pi / 2) ** (2 * i + 1) / math.factorial(2 * i + 1) for i in range(10)
]
_HALVING = [(-math.log(2)) ** i / math.factorial(i) for i in range(17)]


def encode(value: float, bits: int) -> int:
    """Encode a number as int64 with `bits` fraction bits.

    Raises OverflowError if it does not fit.
    """
    encoded = round(value * (1 << bits)) if abs(value) < 2**62 else 1 << 63
    if not -(1 << 63) <= encoded < 1 << 63:
        raise OverflowError(f"{value} does not fit 64 bits with {bits} of them for the fraction")
    return encoded


def named(value: Expr) -> Expr:
    """Bind an int64 through a register; see `threads.hold`."""
    return hold(value, "int64")


def multiply(a: Expr, b: Expr) -> Expr:
    """a * b / 2^62 with an error of at most 6 units; the product must fit.

    Computed from the products of the 32-bit halves, without that of the lower halves, which
    contributes less than 4 units.
    """
    a, b = named(a), named(b)
    low = i64(0xFFFFFFFF)
    a_high, b_high = named(tirx.shift_right(a, i64(32))), named(tirx.shift_right(b, i64(32)))
    a_low, b_low = named(tirx.bitwise_and(a, low)), named(tirx.bitwise_and(b, low))
    middle = named(tirx.shift_right(a_high * b_low, i64(30)))
    other = named(tirx.shift_right(a_low * b_high, i64(30)))
    return named(a_high * b_high * i64(4) + middle + other)


def polynomial(x: Expr, coefficients: list[float]) -> Expr:
    """sum_i coefficients[i] x^i in Q62; every partial sum must be in [-2, 2)."""
    *lower, highest = coefficients
    value: Expr = i64(encode(highest, ONE))
    for coefficient in reversed(lower):
        value = named(multiply(value, x) + i64(encode(coefficient, ONE)))
    return value


def sine_of_turns(turns: Expr) -> Expr:
    """sin(2 pi x) in Q62, where x is an int64 with 64 fraction bits, modulo 1; error below 1e-15.

    After folding x to at most a quarter turn, the same integer represents 4 x in Q62, which is in
    [-1, 1] and is the argument of a Taylor series with 10 terms.
    """
    x = named(turns)
    half, quarter = i64(-(1 << 63)), 1 << 62
    folded = tirx.Select(
        x > i64(quarter),
        half - x,
        tirx.Select(x < i64(-quarter), half - x, x),
    )
    u = named(folded)
    return multiply(u, polynomial(multiply(u, u), _QUARTER_TURN))


def tanh(y: Expr, bits: int) -> Expr:
    """Hyperbolic tangent in Q62 of y with `bits` <= 56 fraction bits; error below 1e-15.

    Computed for |y| as (1 - e) / (1 + e) with e = exp(-2 |y|) = 2^-(n + f). The division is a
    float32 estimate refined by two Newton iterations.
    """
    y = named(y)
    size = named(tirx.min(tirx.Select(y < i64(0), i64(0) - y, y), i64(encode(21.0, bits))))
    # log2 e fits into Q62, as it is below 2. The exponent 2 |y| log2 e is at most 61.
    power = named(multiply(size, i64(encode(math.log2(math.e), ONE))) * i64(2))
    whole = named(tirx.shift_right(power, i64(bits)))
    fraction = named(tirx.bitwise_and(power, i64((1 << bits) - 1)) * i64(1 << (ONE - bits)))
    e = named(tirx.shift_right(polynomial(fraction, _HALVING), whole))
    divisor = named(i64(1 << (ONE - 1)) + tirx.shift_right(e, i64(1)))  # Q61
    estimate = const(2.0**123) / tirx.Cast("float32", divisor)
    inverse = registers(1, "int64")
    # The inverse is at most 1, but the estimate for e = 0 may round to more.
    store(inverse, 0, tirx.min(tirx.Cast("int64", estimate), i64((1 << ONE) - 1)))
    with T.serial(i32(0), i32(2)):
        rest = i64(1 << ONE) - multiply(divisor, inverse[i32(0)])
        store(inverse, 0, multiply(inverse[i32(0)], rest) * i64(2))
    result = multiply(i64(1 << ONE) - e, inverse[i32(0)])
    return named(tirx.Select(y < i64(0), i64(0) - result, result))
