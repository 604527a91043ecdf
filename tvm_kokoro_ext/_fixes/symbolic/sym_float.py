"""Scalar functions of symbolic sizes for which stock has no converter."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import tirx
from tvm_kokoro_ext._fix import Converter, Fix, needs_previous
from tvm_kokoro_ext._fixes._shared.scalars import converter, float64, is_float, of_one_type


def _to_int(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        return tirx.Cast("int64", function(value)) if is_float(value) else value

    return convert


@needs_previous
def _size(importer: Any, node: Any, previous: Any) -> Any:
    """A size. Stock gives a tensor for a number, and takes a conversion for a number, too."""
    x, axis = importer.retrieve_args(node)[:2]
    known = _compat.type_of(x).shape is not None
    return _compat.shape_of(x)[axis] if known else previous(node)


def _truediv(lhs: Any, rhs: Any) -> Any:
    return tirx.div(float64(lhs), float64(rhs))


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(exponent, int) and exponent >= 0 and not is_float(base):
        return functools.reduce(operator.mul, [base] * exponent, tirx.const(1, "int64"))
    return tirx.pow(float64(base), float64(exponent))


def _modulo(lhs: Any, rhs: Any) -> Any:
    """Python's %, which has the sign of the divisor."""
    if not (is_float(lhs) or is_float(rhs)):
        return tirx.floormod(lhs, rhs)
    lhs, rhs = float64(lhs), float64(rhs)
    rest = tirx.call_pure_extern("float64", "fmod", lhs, rhs)
    return tirx.Select(rest * rhs < tirx.const(0.0, "float64"), rest + rhs, rest)


def _sum(values: Any) -> Any:
    return functools.reduce(operator.add, values)


def _rounded(value: Any, digits: int | None = None) -> Any:
    """round(value, digits), an integer without digits; torch.export drops those of an integer."""
    if digits is None or not is_float(value):
        return _to_int(tirx.nearbyint)(value)
    return tirx.nearbyint(value)


def _round(importer: Any, node: Any, previous: Any) -> Any:
    value, *digits = importer.retrieve_args(node)
    if any(digits) and is_float(value):
        raise _emit.refuse(
            node,
            "Python rounds to decimal digits exactly, which no expression of TVM does",
            "Round it to an integer: round(x)",
        )
    return converter(round, _rounded)(importer, node, previous)


_FUNCTIONS: dict[str, Converter] = {
    "sym_size.int": _size,
    "sym_float": converter(float, float64),
    "sym_int": converter(int, _to_int(tirx.trunc)),
    "truediv": converter(operator.truediv, _truediv),
    "int_truediv": converter(operator.truediv, _truediv),
    "trunc": converter(math.trunc, _to_int(tirx.trunc)),
    "floor": converter(math.floor, _to_int(tirx.floor)),
    "ceil": converter(math.ceil, _to_int(tirx.ceil)),
    "round": _round,
    "pow": converter(operator.pow, _power),
    "mod": converter(operator.mod, _modulo),
    "abs": converter(abs, tirx.abs),
    "lshift": converter(operator.lshift, tirx.shift_left),
    "rshift": converter(operator.rshift, tirx.shift_right),
    "sym_max": converter(max, of_one_type(tirx.max)),
    "sym_min": converter(min, of_one_type(tirx.min)),
    "sym_sum": converter(sum, _sum),
    "sym_sqrt": converter(math.sqrt, lambda value: tirx.sqrt(float64(value))),
    "_sym_sqrt": converter(math.sqrt, lambda value: tirx.sqrt(float64(value))),
}

# Methods that torch.export is not known to emit.
_NOT_EXPORTED = ("int_truediv", "sym_sqrt")

FIX = Fix(
    id="sym_float",
    what="sym_float, truediv, trunc, floor, ceil, pow, mod, abs, shifts, sym_max and sym_min of "
    "symbolic sizes",
    op="torch.sym_float, operator.truediv, math.trunc, …",
    affected="",
    converters=_FUNCTIONS,
    probe=_probe.lacks(*(name for name in _FUNCTIONS if name not in _NOT_EXPORTED)),
)
