"""Real architectures with random weights: what torch can export is right, or refused by name.

Each case runs in a process of its own (`run_model.py`). The slow tier has a few; `pytest -m models`
has all, and `python tests/models/report.py` writes them, with stock beside them, into
docs/models.md. A case skips where the package of its architecture is missing (extra `models`).
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def _catalogue():
    spec = importlib.util.spec_from_file_location("model_catalogue", HERE / "catalogue.py")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up. spaCy has a package of the name catalogue.
    sys.modules["model_catalogue"] = module
    spec.loader.exec_module(module)
    return module


MODELS = _catalogue().MODELS
CASES = [
    pytest.param(
        model.name,
        model.library,
        dtype,
        id=f"{model.name}-{dtype}",
        marks=[pytest.mark.slow] if model.in_ci and dtype == "float32" else [pytest.mark.models],
    )
    for model in MODELS
    for dtype in model.dtypes
]


def test_the_names_are_unique():
    names = [model.name for model in MODELS]
    assert len(names) == len(set(names))
    assert len(names) >= 40


@pytest.mark.parametrize(("name", "library", "dtype"), CASES)
def test_model(name, library, dtype):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed: pip install 'tvm-kokoro[models]'")
    command = [sys.executable, HERE / "run_model.py", name, "--dtype", dtype, "--by", "extension"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600)
    outcomes = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert len(outcomes) == 2
    bad = [o for o in outcomes if o["result"] not in ("right", "refused", "not exported")]
    assert not bad
    assert any(o["result"] == "right" for o in outcomes) or name in ("encodec",), outcomes
