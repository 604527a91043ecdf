"""Simplify torch's symbolic sizes: integer polynomials of sizes, floor divisions and remainders.

Torch keeps `(s - s % 4 + 8) // ((s - s % 4) // 4 + 2)` as it is, which is 4. Neither torch nor TVM
proves such equalities, and a program that computes with these sizes nests them. Here

- a remainder is what its quotient leaves: a % b = a - b * (a // b),
- what a divisor divides comes out of a quotient: (4 * a + b) // 4 = a + b // 4,
- factors are cancelled: (a * b) // (a * c) = b // c,
- and quotients by numbers are one: (a // 2 + b) // 3 = (a + 2 * b) // 6.

All of it holds for every integer, as long as no divisor is 0.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

#: Larger expressions are left as they are, because a product of sums may be long.
_LARGEST = 400

#: The interval of a size, as torch knows it: an object with `lower`, `upper` and `is_singleton()`.
Bounds = Callable[[Any], Any]


def simplified(expression: Any, bounds: Bounds, expanded: dict[Any, Any]) -> Any:
    """The size, or a simpler expression that is equal to it; quotients are calls of `quotient`.

    `expanded` is kept for the next size with these bounds: sizes that a program computes nest.
    """
    if expression.is_Symbol or expression.is_Integer:
        return expression
    if expression.count_ops() > _LARGEST:
        return expression
    try:
        found = _sympy().factor_terms(_expanded(expression, bounds, expanded))
    except _NoSizeError:
        return expression
    return found if _weight(found) < _weight(expression) else expression


def _weight(expression: Any) -> int:
    """The number of operations; a remainder counts more, as TVM reasons about quotients better."""
    parts = _sympy().preorder_traversal(expression)
    remainders = sum(type(part).__name__ in ("Mod", "PythonMod") for part in parts)
    return int(expression.count_ops()) + 2 * remainders


@functools.cache
def _sympy() -> Any:
    import sympy

    return sympy


@functools.cache
def quotient() -> Any:
    """The function (a, b) of which sympy knows nothing, for a // b."""
    return _sympy().Function("quotient", integer=True)


class _NoSizeError(Exception):
    """The expression holds something else than integers."""


def _expanded(expression: Any, bounds: Bounds, known: dict[Any, Any]) -> Any:
    """A sum of products of symbols, quotients, maxima and minima; `known` has earlier results."""
    if expression.is_Symbol or expression.is_Integer:
        return expression
    if expression not in known:
        parts = [_expanded(argument, bounds, known) for argument in expression.args]
        known[expression] = _combined(expression, parts, bounds)
    return known[expression]


def _combined(expression: Any, parts: list[Any], bounds: Bounds) -> Any:
    """The expanded expression, from its expanded parts."""
    sympy = _sympy()
    kind = type(expression).__name__
    if expression.is_Add or expression.is_Mul:
        return sympy.expand(expression.func(*parts))
    if expression.is_Pow and parts[1].is_Integer and parts[1] > 0:
        return sympy.expand(parts[0] ** parts[1])
    if kind in ("FloorDiv", "CleanDiv"):
        return sympy.expand(_quotient(*parts))
    if kind in ("Mod", "PythonMod"):
        return sympy.expand(parts[0] - parts[1] * _quotient(*parts))
    if kind in ("Max", "Min"):
        between = bounds(expression)
        if between.is_singleton():
            return sympy.Integer(int(between.lower))
        return expression.func(*map(sympy.factor_terms, parts))
    raise _NoSizeError(kind)


def _quotient(dividend: Any, divisor: Any) -> Any:
    """dividend // divisor, both expanded."""
    sympy = _sympy()
    if divisor == 0:
        raise _NoSizeError("a division by 0")
    if not divisor.is_Integer:
        dividend, divisor = sympy.cancel(dividend / divisor).as_numer_denom()
        dividend, divisor = sympy.expand(dividend), sympy.expand(divisor)
        if not divisor.is_Integer:
            return quotient()(sympy.factor_terms(dividend), sympy.factor_terms(divisor))
    if divisor < 0:
        dividend, divisor = sympy.expand(-dividend), -divisor
    return _by_number(dividend, int(divisor))


def _by_number(dividend: Any, divisor: int) -> Any:
    sympy = _sympy()
    whole, rest, constant, factors = sympy.Integer(0), sympy.Integer(0), 0, []
    for term in sympy.Add.make_args(dividend):
        number, factor = term.as_coeff_Mul()
        if not number.is_Integer:
            raise _NoSizeError("a fraction")
        times, left = divmod(int(number), divisor)
        whole += times * factor
        if factor == 1:
            constant = left
        elif left:
            rest += left * factor
            factors.append(left)
    if not factors:
        return whole
    if 2 * sum(factors) > divisor * len(factors):  # 3 * s // 4 is s - (s + 3) // 4
        every = sum((term.as_coeff_Mul()[1] for term in sympy.Add.make_args(rest)), whole * 0)
        turned = sympy.expand(divisor * every - rest) + divisor - 1 - constant
        return whole + every - _by_number(turned, divisor)
    common = math.gcd(divisor, *factors)
    if common > 1:
        rest = sympy.expand(rest / common) + constant // common
        return whole + _by_number(rest, divisor // common)
    if rest.func == quotient() and rest.args[1].is_Integer:
        inner, by = rest.args
        return whole + _by_number(sympy.expand(inner + constant * by), divisor * int(by))
    return whole + quotient()(rest + constant, sympy.Integer(divisor))
