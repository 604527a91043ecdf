"""The loopback hub and a process that downloads from it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def _sibling(name: str) -> ModuleType:
    """A helper module next to the tests, which are not a package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def hub_server() -> ModuleType:
    """The module `hub_server.py`."""
    return _sibling("hub_server")
