"""Replace a function under all names that it has in TVM's modules, and restore it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def everywhere(package: str, original: Any, wrap: Callable[[Any], Any]) -> Callable[[], None]:
    """Bind `wrap(original)` wherever a loaded module of `package` binds `original`.

    Returns the function that restores the original.
    """
    replacement = wrap(original)
    places = [
        (module, name)
        for key, module in list(sys.modules.items())
        if module is not None and (key == package or key.startswith(package + "."))
        for name, value in list(vars(module).items())
        if value is original
    ]
    for module, name in places:
        setattr(module, name, replacement)

    def restore() -> None:
        for module, name in places:
            if getattr(module, name, None) is replacement:
                setattr(module, name, original)

    return restore
