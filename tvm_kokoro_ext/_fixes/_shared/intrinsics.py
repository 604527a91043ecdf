"""Rules by which a target lowers intrinsics, which are attributes of the operators of TIR."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tvm_kokoro_ext._compat import tvm

#: Makes the rule of an intrinsic from stock's, which is None if stock has none.
MakeRule = Callable[[Any], Callable[[Any], Any]]

_STOCK_LEVEL = 10


def overridden(attribute: str, rules: Mapping[str, MakeRule]) -> Callable[[], None]:
    """Replace the rules of intrinsics, by their names without `tirx.`; returns what undoes it.

    `attribute` is that of a target, such as "llvm.FLowerIntrinsic".
    """
    before = []
    for name, make in rules.items():
        op = tvm.ir.Op.get(f"tirx.{name}")
        before.append((op, op.get_attr(attribute)))
        _set(op, attribute, make(before[-1][1]))

    def restore() -> None:
        for op, rule in before:
            _set(op, attribute, rule)

    return restore


def _set(op: Any, attribute: str, rule: Any) -> None:
    """Set a rule, after a reset, since registering at an existing level is an error in TVM."""
    op.reset_attr(attribute)
    if rule is not None:
        op.set_attr(attribute, rule, _STOCK_LEVEL)
