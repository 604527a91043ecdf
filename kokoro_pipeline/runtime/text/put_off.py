"""Import a package without what it imports and this project never uses."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


@contextmanager
def put_off(name: str) -> Iterator[None]:
    """Let `import NAME`, inside the block, give a module that is loaded at its first use.

    The package `name` need not be installed. What importers get forwards every attribute to the
    package itself. Inside the block every attribute is `typing.Any`, since annotations ask for
    some while modules are defined. Imports after the block are not affected.
    """
    if name in sys.modules:
        yield
        return
    stand_in = ModuleType(name)

    def forward(attribute: str) -> Any:
        if sys.modules.get(name) is stand_in:
            return Any
        return getattr(importlib.import_module(name), attribute)

    vars(stand_in)["__getattr__"] = forward  # PEP 562
    sys.modules[name] = stand_in
    try:
        yield
    finally:
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]
