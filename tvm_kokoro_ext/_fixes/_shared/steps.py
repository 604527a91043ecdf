"""Expressions whose parts have names, so that a part that is used often is computed once."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import tirx


class Steps:
    """Values that are bound to variables of an expression."""

    def __init__(self) -> None:
        self._bound: list[tuple[Any, Any]] = []

    def name(self, value: Any) -> Any:
        """A variable that is bound to the value."""
        variable = tirx.Var("step", _compat.prim_dtype(value))
        self._bound.append((variable, value))
        return variable

    def within(self, result: Any) -> Any:
        """The expression with the values bound."""
        for variable, value in reversed(self._bound):
            result = tirx.Let(variable, value, result)
        return result
