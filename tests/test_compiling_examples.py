"""The examples that compile a user's own PyTorch module."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@pytest.mark.parametrize(
    ("name", "limit"), [("import_torch_module.py", 1e-3), ("emulate_cuda.py", 1e-5)]
)
def test_the_result_is_pytorchs(name, limit):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    errors = [float(error) for error in re.findall(r"largest error (\S+)", done.stdout)]
    assert len(errors) == 2
    assert max(errors) < limit
