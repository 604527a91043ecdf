"""The functions of TVM by which every effect of a fix is used, watched until the first call.

Importing this package runs no probe. The first call of one of these functions runs those that
matter to it, before anything else happens, and then the functions of its kind are TVM's own again
(or those of the fixes).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _replace

_IMPORTING = ((_compat.IMPORTER_MODULE, "from_exported_program"),)
_BUILDING = (
    ("tvm.relax.transform", "LegalizeOps"),
    ("tvm.tirx.transform", "LowerIntrin"),
    ("tvm.relax", "build"),
    ("tvm.tirx", "build"),
    ("tvm", "compile"),
    ("tvm", "build"),
)


def watch(
    *, importing: Callable[[], None] | None, building: Callable[[], None] | None
) -> Callable[[], None]:
    """Call `importing` or `building` before each call of an entry point of that kind.

    None does not watch that kind. Returns the function that ends the watch, which these two call.
    """

    def watching(function: Any, first: Callable[[], None]) -> _replace.Wrap:
        def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def call(*args: Any, **kwargs: Any) -> Any:
                first()
                return function(*args, **kwargs)

            return call

        return wrap

    watched = (
        (getattr(sys.modules[module], name), first)
        for functions, first in ((_IMPORTING, importing), (_BUILDING, building))
        for module, name in functions
        if module in sys.modules and first is not None
    )
    return _replace.in_place({function: watching(function, first) for function, first in watched})
