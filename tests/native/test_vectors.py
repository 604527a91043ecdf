"""One table of vectors: the running half in Python gives it, and `native/` is tested against it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_vectors", HERE / "make_vectors.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def made(maker: ModuleType) -> dict[str, Any]:
    """What Python computes, as JSON has it."""
    made = maker.make()
    return {k: v if isinstance(v, list) else [v] for k, v in json.loads(json.dumps(made)).items()}


@pytest.mark.parametrize("subject", ["noise_keys", "splitting", "frames", "pcm16", "blends"])
def test_python_gives_the_vectors(subject, made, maker):
    table = json.loads(maker.VECTORS.read_text("utf-8"))
    assert table.keys() == made.keys()
    assert table[subject] == made[subject]
