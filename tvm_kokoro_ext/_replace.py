"""Replace functions under all names that they have in TVM's modules, and restore them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

Wrap = Callable[[Any], Any]


def everywhere(package: str, wraps: Mapping[Any, Wrap]) -> Callable[[], None]:
    """Bind `wrap(original)` wherever a loaded module of `package` binds `original`.

    `wraps` has a wrap for each original. Returns the function that restores the originals, also
    under names that were given to the replacements later, as by an import in a module of `package`.
    """
    replacements = [(original, wrap(original)) for original, wrap in wraps.items()]
    _rebind(package, {id(original): replacement for original, replacement in replacements})

    def restore() -> None:
        _rebind(package, {id(replacement): original for original, replacement in replacements})

    return restore


def _rebind(package: str, by_identity: Mapping[int, Any]) -> None:
    """Bind the given objects instead of those with these identities, in all modules."""
    for key, module in list(sys.modules.items()):
        if isinstance(module, ModuleType) and f"{key}.".startswith(f"{package}."):
            names = vars(module)
            if not by_identity.keys().isdisjoint(map(id, names.values())):
                for name, value in list(names.items()):
                    if id(value) in by_identity:
                        names[name] = by_identity[id(value)]
