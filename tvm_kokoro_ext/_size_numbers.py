"""What a program computes of its sizes with floats, bits and powers, as TVM's expressions.

A shape consists of integers, which `_symbolic.translated` gives. What decides which branch a trace
takes may be any number: `n / 3 > 2.5`, `int(n * 0.7) == 8`, `n & 4 != 0`. Python computes floats in
float64, and so do these expressions, operation by operation.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import tirx

_FLOAT = "float64"
#: The functions of torch whose results are floats.
_FLOATS = ("ToFloat", "IntTrueDiv", "FloatTrueDiv", "FloatPow")
_BITS = {
    "BitwiseFn_bitwise_and": tirx.bitwise_and,
    "BitwiseFn_bitwise_or": tirx.bitwise_or,
    "BitwiseFn_bitwise_xor": tirx.bitwise_xor,
}
#: torch names them OpaqueUnaryFn_sqrt and so on.
_OPAQUE = "OpaqueUnaryFn_"
_UNARY = ("sqrt", "exp", "log", "log2", "sin", "cos", "tan", "asin", "acos", "atan", "tanh")


def _toward_zero(number: Any) -> Any:
    return tirx.Cast("int64", number)


def _down(number: Any) -> Any:
    whole = _toward_zero(number)
    return whole - tirx.Cast("int64", tirx.Cast(_FLOAT, whole) > number)


def _up(number: Any) -> Any:
    whole = _toward_zero(number)
    return whole + tirx.Cast("int64", tirx.Cast(_FLOAT, whole) < number)


def _to_nearest(number: Any) -> Any:
    """The nearest integer, of two the even one, as Python's `round` gives."""
    below = _down(number)
    rest = number - tirx.Cast(_FLOAT, below)
    half, odd = tirx.const(0.5, _FLOAT), tirx.floormod(below, 2) == 1
    return below + tirx.Cast("int64", tirx.any(rest > half, tirx.all(rest == half, odd)))


# Where guards are checked, TVM knows conversions and comparisons, but not `tirx.floor`.
_ROUNDED: Mapping[str, Callable[[Any], Any]] = {
    "TruncToInt": _toward_zero,
    "FloorToInt": _down,
    "floor": _down,
    "CeilToInt": _up,
    "ceiling": _up,
    "RoundToInt": _to_nearest,
}


def is_no_size(expression: Any) -> bool:
    """Whether torch's expression is a float, or one of bits, which the size of no tensor is."""
    kind = type(expression).__name__
    if expression.is_Float or kind in _FLOATS or kind in _BITS or kind.startswith(_OPAQUE):
        return True
    plain = expression.is_Add or expression.is_Mul or expression.is_Pow
    return (plain or kind in ("Max", "Min", "Abs")) and any(map(is_no_size, expression.args))


def is_float(value: Any) -> bool:
    return not isinstance(value, int) and "float" in _compat.prim_dtype(value)


def to_float(value: Any) -> Any:
    """An integer, as Python's or TVM's expression, in float64."""
    if isinstance(value, int):
        return tirx.const(float(value), _FLOAT)
    return value if is_float(value) else tirx.Cast(_FLOAT, value)


def computed(
    expression: Any, known: Mapping[str, Any], integers: Callable[[Any, Mapping[str, Any]], Any]
) -> Any:
    """The number that a sympy expression of torch's sizes is; None if it cannot be expressed.

    `integers` gives what integers alone express. The result is of int64, of float64, or an int.
    """
    found = integers(expression, known)
    if found is not None:
        return found
    if expression.is_Float:
        return tirx.const(float(expression), _FLOAT)
    parts = [computed(argument, known, integers) for argument in expression.args]
    if not parts or any(part is None for part in parts):
        return None
    return _applied(expression, parts)


def _applied(expression: Any, parts: list[Any]) -> Any:
    """The function of torch's expression of its arguments' numbers."""
    kind = type(expression).__name__
    if kind in _ROUNDED:
        return _ROUNDED[kind](to_float(parts[0]))
    if kind in _BITS:
        return functools.reduce(_BITS[kind], map(_int64, parts))
    if kind == "Abs":
        return tirx.abs(parts[0])
    if expression.is_Add or expression.is_Mul or kind in ("Max", "Min"):
        alike = map(to_float if any(map(is_float, parts)) else _int64, parts)
        plain = operator.add if expression.is_Add else operator.mul
        return functools.reduce({"Max": tirx.max, "Min": tirx.min}.get(kind, plain), alike)
    floats = [to_float(part) for part in parts]
    if kind == "ToFloat":
        return floats[0]
    if kind in ("IntTrueDiv", "FloatTrueDiv"):
        return tirx.div(*floats)
    if kind in ("FloatPow", "PowByNatural", "Pow"):
        return tirx.power(*floats)  # of integers, too: 2**n is larger than int64 for an n of 63
    name = kind.removeprefix(_OPAQUE)
    return getattr(tirx, name)(floats[0]) if kind.startswith(_OPAQUE) and name in _UNARY else None


def _int64(value: Any) -> Any:
    return tirx.IntImm("int64", value) if isinstance(value, int) else value
