"""Find the declarations of a Relax function that are checked when it runs."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext._compat import relax


def match_casts(function: Any) -> list[Any]:
    """The `match_cast` bindings of a function, those of its branches included."""
    found: list[Any] = []

    def visit(expression: Any) -> None:
        if isinstance(expression, relax.SeqExpr):
            bindings = (binding for block in expression.blocks for binding in block.bindings)
            found.extend(b for b in bindings if isinstance(b, relax.MatchCast))

    relax.analysis.post_order_visit(function, visit)
    return found
