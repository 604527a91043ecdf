"""Runs test files against a tree in one fresh process and reads every test's outcome."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# Fails rather than test the installed package by mistake.
_PROGRAM = """
import sys, pytest, tvm
assert tvm.__file__.startswith(sys.argv[1]), f"tested {tvm.__file__}"
sys.exit(pytest.main(sys.argv[2:]))
"""


@dataclass(frozen=True)
class Outcomes:
    """`passed` and `failed` hold test names; `crashed` says that the process ended early.

    A test that was skipped counts as failed: it proves nothing. `output` is the end of what
    pytest said.
    """

    passed: frozenset[str]
    failed: frozenset[str]
    crashed: bool
    output: str


def environment(python: Path) -> dict[str, str]:
    """The environment of a process that imports tvm from the folder `python`."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONHOME", "PYTEST_ADDOPTS")}
    return kept | {"PYTHONPATH": str(python), "OMP_NUM_THREADS": "1", "TVM_NUM_THREADS": "1"}


def run_tests(root: Path, python: Path, files: Sequence[str], *, timeout: float) -> Outcomes:
    """Run the test files of `root` with tvm from `python`, for at most `timeout` seconds."""
    report = root / ".git" / "junit.xml"
    report.unlink(missing_ok=True)
    options = ["-q", "--tb=short", "--show-capture=no", "-W", "ignore", "-p", "no:cacheprovider"]
    options += [
        "--continue-on-collection-errors",
        "-c",
        os.devnull,
        "--rootdir",
        str(root),
        f"--junitxml={report}",
    ]
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, str(python), *options, *files],
            cwd=root,
            env=environment(python),
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
        output = (done.stdout + done.stderr)[-6000:]
    except subprocess.TimeoutExpired:
        output = f"stopped after {timeout:.0f} s"
    if not report.is_file():
        return Outcomes(frozenset(), frozenset(), True, output)
    passed, failed = set(), set()
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
        (failed if len(case) else passed).add(name)
    return Outcomes(frozenset(passed - failed), frozenset(failed), False, output)
