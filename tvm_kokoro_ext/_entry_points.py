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
    """Call one of these before any call of an entry point of its kind, unless it is None.

    Returns the function that stops this. Whoever keeps a watched function beyond the watch calls
    the present function by it.
    """

    def watching(module: str, name: str, first: Callable[[], None]) -> _replace.Wrap:
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
            getattr(sys.modules[module], name): watching(module, name, first)
            for functions, first in ((_IMPORTING, importing), (_BUILDING, building))
            for module, name in functions
            if module in sys.modules and first is not None
        },
    )
