"""Scalar functions of symbolic sizes for which stock has no converter."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import tirx
from tvm_kokoro_ext._fix import Converter, Fix


def _scalar(python: Callable[..., Any], symbolic: Callable[..., Any]) -> Converter:
    def convert(importer: Any, node: Any, previous: Any) -> Any:
        operands = importer.retrieve_args(node)
        if any(_compat.is_tensor(value) for value in operands):
            if previous is not None:
                return previous(node)
            raise _emit.refuse(
                node,
                "a tensor where torch has a scalar of the shape language",
                "Compute it with tensor operators",
            )
        operands = [_compat.prim(value) for value in operands]
        function = symbolic if any(_compat.is_prim(v) for v in _flat(operands)) else python
        return function(*operands)

    return convert


def _flat(values: Any) -> list[Any]:
    return [v for item in values for v in (item if isinstance(item, list | tuple) else [item])]


def _float64(value: Any) -> Any:
    """A scalar in float64, like torch's SymFloat."""
    if isinstance(value, int | float):
        return tirx.const(float(value), "float64")
    return value if _compat.prim_dtype(value) == "float64" else tirx.Cast("float64", value)


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or (
        _compat.is_prim(value) and "float" in _compat.prim_dtype(value)
    )


def _to_int(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        return tirx.Cast("int64", function(value)) if _is_float(value) else value

    return convert


def _truediv(lhs: Any, rhs: Any) -> Any:
    return tirx.div(_float64(lhs), _float64(rhs))


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(exponent, int) and exponent >= 0 and not _is_float(base):
        return functools.reduce(operator.mul, [base] * exponent, tirx.const(1, "int64"))
    return tirx.pow(_float64(base), _float64(exponent))


def _either(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def convert(lhs: Any, rhs: Any) -> Any:
        if _is_float(lhs) or _is_float(rhs):
            lhs, rhs = _float64(lhs), _float64(rhs)
        return function(lhs, rhs)

    return convert


def _sum(values: Any) -> Any:
    return functools.reduce(operator.add, values)


def _rounded(value: Any, digits: int | None = None) -> Any:
    """round(value, digits), an integer without digits; torch.export drops those of an integer."""
    if digits is None or not _is_float(value):
        return _to_int(tirx.nearbyint)(value)
    return tirx.nearbyint(value)


def _round(importer: Any, node: Any, previous: Any) -> Any:
    value, *digits = importer.retrieve_args(node)
    if any(digits) and _is_float(value):
        raise _emit.refuse(
            node,
            "Python rounds to decimal digits exactly, which no expression of TVM does",
            "Round it to an integer: round(x)",
        )
    return _scalar(round, _rounded)(importer, node, previous)


_FUNCTIONS: dict[str, Converter] = {
    "sym_float": _scalar(float, _float64),
    "sym_int": _scalar(int, _to_int(tirx.trunc)),
    "truediv": _scalar(operator.truediv, _truediv),
    "int_truediv": _scalar(operator.truediv, _truediv),
    "trunc": _scalar(math.trunc, _to_int(tirx.trunc)),
    "floor": _scalar(math.floor, _to_int(tirx.floor)),
    "ceil": _scalar(math.ceil, _to_int(tirx.ceil)),
    "round": _round,
    "pow": _scalar(operator.pow, _power),
    "sym_max": _scalar(max, _either(tirx.max)),
    "sym_min": _scalar(min, _either(tirx.min)),
    "sym_sum": _scalar(sum, _sum),
    "sym_sqrt": _scalar(math.sqrt, lambda value: tirx.sqrt(_float64(value))),
    "_sym_sqrt": _scalar(math.sqrt, lambda value: tirx.sqrt(_float64(value))),
}

# Methods that torch.export is not known to emit.
_NOT_EXPORTED = ("int_truediv", "sym_sqrt")

FIX = Fix(
    id="sym_float",
    what="sym_float, truediv, trunc, floor, ceil, pow, sym_max and sym_min of symbolic sizes",
    op="torch.sym_float, operator.truediv, math.trunc, …",
    affected="",
    converters=_FUNCTIONS,
    probe=_probe.lacks(*(name for name in _FUNCTIONS if name not in _NOT_EXPORTED)),
)
