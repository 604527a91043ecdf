"""`from_exported_program(program, func_name="decoder")`: a name for the imported function.

Stock names every function "main", so that two programs cannot be put into one module.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _importer, _replace
from tvm_kokoro_ext._compat import tvm
from tvm_kokoro_ext._fix import Fix


def _with_name(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def from_exported_program(*args: Any, func_name: str = "main", **kwargs: Any) -> Any:
        return rename(original(*args, **kwargs), "main", func_name)

    return from_exported_program


def rename(module: Any, old: str, new: str) -> Any:
    """Rename the function `old` of a module to `new`, including its symbol.

    Raises
    ------
    ValueError
        If the module has another function with the new name.
    """
    if old == new:
        return module
    functions = {name.name_hint: (name, f) for name, f in module.functions_items()}
    if new in functions:
        raise ValueError(f"the imported module already has a function called {new!r}")
    kept = {name: f for hint, (name, f) in functions.items() if hint != old}
    named = functions[old][1].with_attr("global_symbol", new)
    kept[tvm.ir.GlobalVar(new)] = named
    return tvm.IRModule(kept, attrs=module.attrs)


def install() -> Callable[[], None]:
    _importer.importer_class()
    translator = sys.modules[_compat.IMPORTER_MODULE]
    return _replace.in_place({translator.from_exported_program: _with_name})


def _still_wrong() -> bool:
    function = sys.modules[_compat.IMPORTER_MODULE].from_exported_program
    return "func_name" not in inspect.signature(function).parameters


FIX = Fix(
    id="function_name",
    what='the importer calls every function "main"',
    op="from_exported_program",
    affected="",
    install=install,
    probe=_still_wrong,
)
