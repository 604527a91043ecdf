"""A symbolic size among the outputs, which 0.25 rejects with an unclear error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _importer
from tvm_kokoro_ext._fix import Fix


def install() -> Callable[[], None]:
    importer = _importer.importer_class()
    stock = importer.__dict__["_flatten_output_args"]

    def flatten(output_args: Any) -> Any:
        return stock.__func__(_wrapped(output_args))

    importer._flatten_output_args = staticmethod(flatten)

    def restore() -> None:
        importer._flatten_output_args = stock

    return restore


def _wrapped(value: Any) -> Any:
    """The outputs, with symbolic scalars wrapped as Relax expressions."""
    if isinstance(value, list | tuple):
        return type(value)(_wrapped(item) for item in value)
    return _compat.prim_value(_compat.prim(value)) if _compat.is_prim(value) else value


def _still_wrong() -> bool:
    try:
        _importer.importer_class()._flatten_output_args((_compat.tir_var("n"),))
    except ValueError:
        return True
    return False


FIX = Fix(
    id="symbolic_output",
    what="a symbolic size among the outputs raises ValueError",
    op="from_exported_program",
    affected="<0.26",
    install=install,
    probe=_still_wrong,
)
