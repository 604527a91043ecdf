"""Quotients and remainders of symbolic integers whose divisor may be 0.

A compiled program computes all sizes that follow from those of its inputs when it begins, before it
has checked anything, and an integer that is divided by 0 ends the process. Here such a divisor is
replaced by 1, and what has to be checked of it is collected.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import tirx

_LISTED = (tirx.FloorDiv, tirx.FloorMod, tirx.Div, tirx.Mod)


def without_division_by_zero(term: Any, divisors: list[Any], of_sizes: bool = False) -> Any:
    """The same term where none of its integer divisors is 0; `divisors` receives them.

    All of a condition is computed, also what stands behind an `and`. `of_sizes` says that no
    variable is negative.
    """
    if isinstance(term, tirx.Cast):
        inner = without_division_by_zero(term.value, divisors, of_sizes)
        same = _compat.same_object(inner, term.value)
        return term if same else tirx.Cast(_compat.prim_dtype(term), inner)
    if not (hasattr(term, "a") and hasattr(term, "b")):
        return term
    a, b = (without_division_by_zero(part, divisors, of_sizes) for part in (term.a, term.b))
    if isinstance(term, _LISTED) and "int" in _compat.prim_dtype(term):
        b = _nonzero(b, divisors, of_sizes)
    same = _compat.same_object(a, term.a) and _compat.same_object(b, term.b)
    return term if same else type(term)(a, b)


def _nonzero(divisor: Any, divisors: list[Any], of_sizes: bool) -> Any:
    """The divisor, or 1 in place of 0."""
    if _compat.as_int(divisor) is not None or _is_nonzero(divisor):
        return divisor
    one = tirx.IntImm(_compat.prim_dtype(divisor), 1)
    if of_sizes:
        analyzer = _compat.analyzer_of_sizes(divisor)
        if analyzer.can_prove(divisor > 0):
            return divisor
        if analyzer.can_prove(divisor >= 0):
            divisors.append(divisor)
            return tirx.max(divisor, one)
    divisors.append(divisor)
    return divisor + tirx.Cast(_compat.prim_dtype(divisor), divisor == 0)


def _is_nonzero(divisor: Any) -> bool:
    """Whether this is what `_nonzero` makes of a divisor of which it knows nothing."""
    added = divisor.b if isinstance(divisor, tirx.Add) else None
    compared = added.value if isinstance(added, tirx.Cast) else None
    return isinstance(compared, tirx.EQ) and _compat.same_object(compared.a, divisor.a)
