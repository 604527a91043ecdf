"""Conditions on sizes that a program checks when it runs."""

from __future__ import annotations

import weakref
from contextlib import ExitStack
from typing import Any

from tvm_kokoro_ext import _compat, _divisions
from tvm_kokoro_ext._compat import relax, tirx

#: The smallest value of a number that is no size, such as one that is read from a tensor.
_LEAST = -(1 << 31)


class _Checked:
    """What a function checks already, by the importer's table of the function's nodes."""

    def __init__(self, table: dict[Any, Any]) -> None:
        self.table = table
        self.conditions: list[Any] = []
        inputs = [value for node, value in table.items() if node.op == "placeholder"]
        shapes = [_compat.shape_of(value) for value in inputs if _compat.has_shape(value)]
        self.sizes = {size.name for shape in shapes for size in shape if _compat.is_var(size)}

    def proves(self, condition: Any) -> bool:
        """Whether a condition holds for sizes of 0 and more if the checked conditions hold.

        TVM takes the bounds of a quotient of floats for those of integers, and would prove that
        int(n / 7) <= 2. So nothing that floats are part of is proved, or helps to prove.
        """
        if _has_floats(condition):
            return False
        analyzer = _compat.analyzer_of_sizes(condition, least=self._least)
        with ExitStack() as stack:
            for known in self.conditions:
                if not _has_floats(known):
                    stack.enter_context(analyzer.constraint_scope(known))
            return bool(analyzer.can_prove(condition))

    def _least(self, variable: Any) -> int:
        return 0 if variable.name in self.sizes else _LEAST


_checked: weakref.WeakKeyDictionary[Any, _Checked] = weakref.WeakKeyDictionary()


def _has_floats(term: Any) -> bool:
    """Whether a float is part of a term: a constant, a variable, or a converted integer."""
    if isinstance(term, int | float):
        return isinstance(term, float)
    if (isinstance(term, tirx.Cast) or _compat.is_var(term)) and "float" in _compat.prim_dtype(
        term
    ):
        return True
    names = ("a", "b", "value", "condition", "true_value", "false_value")
    parts = [getattr(term, name) for name in names if hasattr(term, name)]
    return any(map(_has_floats, [*parts, *getattr(term, "args", ())]))


def require(importer: Any, *conditions: Any) -> None:
    """Let the program raise when it runs if a condition does not hold, unless that is proved."""
    checked = _checked.get(importer)
    if checked is None or checked.table is not importer.env:
        checked = _checked[importer] = _Checked(importer.env)
    different = {str(condition): condition for condition in conditions}
    unproved = [condition for condition in different.values() if not checked.proves(condition)]
    if unproved:
        check(importer, tirx.all(*unproved))
        checked.conditions.extend(unproved)


def check(importer: Any, condition: Any) -> None:
    """Let the program raise when it runs if a condition of symbolic numbers does not hold.

    `match_cast` is the check that a dataflow block may contain. It compares a variable of the
    condition with itself, and where the condition fails with another number.
    """
    variables = _compat.variables_of(condition)
    if not variables:
        return
    size = variables[0]
    divisors: list[Any] = []
    safe = _divisions.without_division_by_zero(condition, divisors)
    nonzero = {str(divisor): divisor != 0 for divisor in divisors}
    holds = tirx.all(*nonzero.values(), safe)
    matched = tirx.if_then_else(holds, size, size + 1)
    importer.block_builder.match_cast(relax.ShapeExpr([size]), _compat.shape_type([matched]))
