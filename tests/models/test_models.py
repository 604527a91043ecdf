"""Real architectures with random weights: what torch can export is right.

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
        model,
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


@pytest.mark.parametrize(("model", "dtype"), CASES)
def test_model(model, dtype):
    if importlib.util.find_spec(model.library) is None:
        pytest.skip(f"{model.library} is not installed: pip install 'tvm-kokoro[models]'")
    program = [sys.executable, HERE / "run_model.py"]
    command = [*program, model.name, "--dtype", dtype, "--by", "extension"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600)
    outcomes = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert [o["variant"] for o in outcomes] == ["static", "dynamic"]
    results = {o["variant"]: o["result"] for o in outcomes}
    expected = {v: "not exported" if v in model.not_exported else "right" for v in results}
    assert results == expected, outcomes
