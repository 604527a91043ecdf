"""Dimensions that torch has specialized to a number are that number and not a variable."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _importer, _probe
from tvm_kokoro_ext._compat import tirx
from tvm_kokoro_ext._fix import Fix

_METHOD = "_process_derived_symbol"


def install() -> Callable[[], None]:
    cls = _importer.importer_class()
    original = cls.__dict__[_METHOD]

    @functools.wraps(original)
    def process(self: Any, symbol: Any, variables: dict[str, Any]) -> Any:
        if getattr(symbol, "is_Integer", False):
            number = tirx.IntImm("int64", int(symbol))
            # Up to 0.26 the caller looks up the name here; later it uses the expression.
            return str(symbol), variables.setdefault(str(symbol), number)
        return original(self, symbol, variables)

    setattr(cls, _METHOD, process)

    def restore() -> None:
        setattr(cls, _METHOD, original)

    return restore


@_probe.wrong
def _still_wrong() -> bool:
    """Whether the integer 4 is treated as an unknown size."""
    import sympy

    importer = _importer.stock()
    return getattr(importer, _METHOD)(sympy.Integer(4), {})[1] is None


FIX = Fix(
    id="specialized_dim",
    what="a Dim.AUTO dimension that torch has specialized becomes a variable named after its size",
    op="from_exported_program",
    affected="",
    install=install,
    probe=_still_wrong,
)
