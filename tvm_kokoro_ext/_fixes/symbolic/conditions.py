"""Truth values of symbolic sizes: comparisons, their negation and logic, and choices by them.

In stock 0.25 and 0.26 a comparison of sizes is the constant True, so that `torch.cond` always takes
its first branch. `torch.sym_not`, `torch.sym_ite`, `&`, `|` and `^` of sizes have no converter in
any version.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import tirx
from tvm_kokoro_ext._fix import Converter, Fix
from tvm_kokoro_ext._fixes._shared import scalars


def _comparison(function: Callable[[Any, Any], Any]) -> Converter:
    compare = scalars.of_one_type(function)
    return scalars.converter(function, lambda lhs, rhs: _condition(compare(lhs, rhs)))


def _condition(expression: Any) -> Any:
    """The expression as an argument of a Relax operator, which that of `torch.cond` must be."""
    return _compat.prim_value(expression)


def _logical(of_bools: Callable[..., Any], of_integers: Callable[..., Any]) -> Callable[..., Any]:
    """`&`, `|` or `^` of two truth values, or of the bits of two integers."""

    def convert(lhs: Any, rhs: Any) -> Any:
        if _is_bool(lhs) and _is_bool(rhs):
            return _condition(of_bools(_as_bool(lhs), _as_bool(rhs)))
        return of_integers(lhs, rhs)

    return convert


def _is_bool(value: Any) -> bool:
    if _compat.is_prim(value):
        return _compat.prim_dtype(value) == "bool"
    return isinstance(value, bool)


def _as_bool(value: Any) -> Any:
    return tirx.const(value, "bool") if isinstance(value, bool) else value


def _not(value: Any) -> Any:
    return _condition(tirx.Not(value))


def _choice(condition: Any, chosen: Any, otherwise: Any) -> Any:
    """The one of two scalars that the condition chooses; both have one type in torch."""
    if isinstance(condition, bool):
        return chosen if condition else otherwise
    if _is_bool(chosen):
        made = tirx.if_then_else(condition, _as_bool(chosen), _as_bool(otherwise))
        return _condition(made)
    choose = scalars.of_one_type(lambda lhs, rhs: tirx.if_then_else(condition, lhs, rhs))
    return choose(_emit.int64(chosen), _emit.int64(otherwise))


_COMPARISONS = (operator.eq, operator.ne, operator.ge, operator.gt, operator.le, operator.lt)

FIX = Fix(
    id="symbolic_condition",
    what="torch.cond takes its first branch whatever sizes it compares (0.25, 0.26); "
    "sym_not, sym_ite, &, ^ and the or of symbolic sizes are refused",
    op="operator.gt, torch.sym_not, torch.sym_ite, operator.and_, …",
    affected="",
    converters={
        **{function.__name__: _comparison(function) for function in _COMPARISONS},
        "sym_not": scalars.converter(operator.not_, _not),
        "sym_ite": scalars.converter(_choice, _choice),
        "and_": scalars.converter(operator.and_, _logical(tirx.all, tirx.bitwise_and)),
        "or_": scalars.converter(operator.or_, _logical(tirx.any, tirx.bitwise_or)),
        "xor": scalars.converter(operator.xor, _logical(tirx.NE, tirx.bitwise_xor)),
    },
    probe=_probe.lacks("sym_not", "sym_ite", "and_", "or_", "xor"),
)
