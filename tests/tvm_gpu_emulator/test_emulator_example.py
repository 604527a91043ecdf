"""Run the example of the emulator's page unchanged."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_example_of_the_page(tmp_path):
    page = (ROOT / "docs" / "emulator.md").read_text("utf-8")
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert code is not None
    program = tmp_path / "example.py"  # TVMScript reads its own source
    program.write_text(code[1], "utf-8")
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said, _, faults = done.stdout.partition("\n")
    assert said == "True"
    shown = re.search(r"prints `(.*?)`", page, re.DOTALL)
    assert shown is not None
    # Which pair of threads is told first is chance; the line and the array are not.
    for words in ("race in reverse_kernel, line 61", "row_ptr", "with no barrier between"):
        assert words in faults
        assert words in " ".join(shown[1].split())
