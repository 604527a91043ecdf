"""The README's example is run as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_example_of_the_readme(tmp_path):
    section = README.read_text("utf-8").partition("## GPU kernels without a GPU")[2]
    code = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert code is not None
    program = tmp_path / "example.py"  # TVMScript reads its own source
    program.write_text(code[1], "utf-8")
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        cwd=README.parent,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said, _, faults = done.stdout.partition("\n")
    assert said == "True"
    shown = re.search(r"prints `(.*?)`", section, re.DOTALL)
    assert shown is not None
    # Which pair of threads is told first is chance; the line and the array are not.
    for words in ("race in reverse_kernel, line 61", "row_ptr", "with no barrier between"):
        assert words in faults
        assert words in " ".join(shown[1].split())
