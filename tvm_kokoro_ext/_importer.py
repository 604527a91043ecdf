"""TVM's importer of exported programs: where it is, its own methods and table, and wrapping them.

The methods are wrapped in place, so that what stock TVM does stays reachable while fixes are on.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat

_ORIGINAL = "__tvm_kokoro_ext_original__"


def importer_class() -> Any:
    """The class `ExportedProgramImporter`; this imports the PyTorch frontend and torch."""
    return importlib.import_module(_compat.IMPORTER_MODULE).ExportedProgramImporter


def stock() -> Any:
    """An importer with only TVM's own converters, for probes and tests."""
    importer = importer_class()()
    if hasattr(type(importer).create_convert_map, _ORIGINAL):
        importer.convert_map = stock_table(importer)
    return importer


def stock_method(cls: Any, name: str) -> Any:
    """TVM's own method of the importer class, even if it is currently wrapped."""
    method = getattr(cls, name)
    return getattr(method, _ORIGINAL, method)


def stock_table(importer: Any) -> dict[str, Any]:
    return dict(stock_method(type(importer), "create_convert_map")(importer))


def load() -> bool:
    """Load the frontend if torch is installed; whether it is loaded."""
    if not loaded() and _compat.has_torch():
        importer_class()
    return loaded()


def loaded() -> bool:
    return _compat.IMPORTER_MODULE in sys.modules


def wrap_method(name: str, wrap: Callable[[Any], Any], needed: bool) -> None:
    """Wrap the method of the importer if needed, else restore TVM's own."""
    cls = importer_class()
    current = cls.__dict__[name]
    wrapped = hasattr(current, _ORIGINAL)
    if needed and not wrapped:
        wrapper = functools.wraps(current)(wrap(current))
        setattr(wrapper, _ORIGINAL, current)
        setattr(cls, name, wrapper)
    elif wrapped and not needed:
        setattr(cls, name, getattr(current, _ORIGINAL))


def was_used(cls: Any) -> bool:
    """Whether an importer has been used in this process, as far as the interpreter shows.

    From 3.11 on, CPython specializes the code of functions that have run a few times, and every
    import runs these functions many times. On 3.10 this cannot be detected, so there is no warning.
    """
    codes = (cls._retrieve_args.__code__, cls._binary_op.__code__, cls._unary_op.__code__)
    return any(getattr(code, "_co_code_adaptive", code.co_code) != code.co_code for code in codes)
