"""The functions of TVM by which every effect of a fix is used, watched until the first call.

Importing this package runs no probe. The first call of one of these functions does, before anything
else happens, and then the functions are TVM's own again (or those of the fixes).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _replace

_FUNCTIONS = (
    (_compat.IMPORTER_MODULE, "from_exported_program"),
    ("tvm.relax.transform", "LegalizeOps"),
    ("tvm.tirx.transform", "LowerIntrin"),
    ("tvm.relax", "build"),
    ("tvm.tirx", "build"),
    ("tvm", "compile"),
    ("tvm", "build"),
)


def watch(first: Callable[[], None]) -> Callable[[], None]:
    """Call `first()` before any call of an entry point; returns the function that stops this.

    Whoever keeps a watched function beyond the watch calls the present function by it.
    """

    def watching(module: str, name: str) -> _replace.Wrap:
        def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def call(*args: Any, **kwargs: Any) -> Any:
                first()
                return getattr(sys.modules[module], name)(*args, **kwargs)

            return call

        return wrap

    return _replace.everywhere(
        "tvm",
        {
            getattr(sys.modules[module], name): watching(module, name)
            for module, name in _FUNCTIONS
            if module in sys.modules
        },
    )
