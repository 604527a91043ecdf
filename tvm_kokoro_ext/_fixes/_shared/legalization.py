"""Legalization overrides: several fixes can override an operator, and be undone independently."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._fixes._shared.two_pass import LEVEL

#: (the function below: another override or TVM's own, builder, call) -> expression.
Override = Callable[[Any, Any, Any], Any]

_originals: dict[str, Any] = {}  # TVM's own, by operator, while there is an override
_overrides: dict[str, list[Override]] = {}


def overriding(functions: Mapping[str, Override]) -> Callable[[], Callable[[], None]]:
    """An `install` function that overrides FLegalize of each operator, and can undo it."""

    def install() -> Callable[[], None]:
        for op, function in functions.items():
            if op not in _originals:
                _originals[op] = _compat.get_legalization(op)
            _overrides.setdefault(op, []).append(function)
            _register(op)

        def restore() -> None:
            for op, function in functions.items():
                _overrides[op].remove(function)
                _register(op)

        return restore

    return install


def _register(op: str) -> None:
    if not _overrides[op]:
        _compat.set_legalization(op, _originals.pop(op), 10)
        return
    layered = _originals[op]
    for function in _overrides[op]:
        layered = partial(function, layered)
    _compat.set_legalization(op, _compat.packed(layered), LEVEL)
