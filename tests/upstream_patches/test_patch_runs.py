"""Running the tests of a patch: outcomes, and independence of consecutive runs.

The source trees of these tests contain an empty package `tvm`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from patch_proof.test_run import TestRunner

pytestmark = pytest.mark.slow

TESTS = """
import os, sys, time
import pytest, tvm

def test_right(): assert tvm.__file__ == {package!r}
def test_wrong(): assert False
def test_skipped(): pytest.skip("proves nothing")
"""
CRASH = "import os, signal\ndef test_crash(): os.kill(os.getpid(), signal.SIGSEGV)\n"
LEAVES = """
import pathlib, subprocess
def test_right():
    worker = subprocess.Popen(["sleep", "600"])
    pathlib.Path("worker").write_text(str(worker.pid))
"""
HANG = "import time\ndef test_hang(): time.sleep(600)\n"


@pytest.fixture(scope="module")
def runner() -> Iterator[TestRunner]:
    with TestRunner() as running:
        yield running


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "python" / "tvm").mkdir(parents=True)
    (tmp_path / "python" / "tvm" / "__init__.py").touch()
    (tmp_path / ".git").mkdir()
    return tmp_path


def test_outcomes_are_read_run_by_run(runner: TestRunner, tree: Path) -> None:
    package = str(tree / "python" / "tvm" / "__init__.py")
    (tree / "test_a.py").write_text(TESTS.format(package=package))
    for _ in range(2):  # the second run begins where the first began
        outcomes = runner.run(tree, tree / "python", ["test_a.py"], timeout=60)
        assert outcomes.passed == {"test_a::test_right"}
        assert outcomes.failed == {"test_a::test_wrong", "test_a::test_skipped"}
        assert not outcomes.crashed and "assert False" in outcomes.output


@pytest.mark.parametrize(
    ("body", "timeout", "said"),
    [(CRASH, 60, ""), (HANG, 1, "stopped after 1 s")],
    ids=["crash", "hang"],
)
def test_a_run_that_ends_early_harms_no_other(
    runner: TestRunner, tree: Path, body: str, timeout: float, said: str
) -> None:
    (tree / "test_b.py").write_text(body)
    outcomes = runner.run(tree, tree / "python", ["test_b.py"], timeout=timeout)
    assert outcomes.crashed and said in outcomes.output
    (tree / "test_b.py").write_text("def test_right(): pass\n")
    after = runner.run(tree, tree / "python", ["test_b.py"], timeout=60)
    assert after.passed == {"test_b::test_right"}


def test_processes_that_a_run_leaves_are_ended(runner: TestRunner, tree: Path) -> None:
    """TVM's worker processes outlive a run that ends without Python's cleanup."""
    (tree / "test_d.py").write_text(LEAVES)
    assert runner.run(tree, tree / "python", ["test_d.py"], timeout=60).passed
    worker = Path("/proc") / (tree / "worker").read_text()
    deadline = time.monotonic() + 10
    while _is_running(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _is_running(worker)


def _is_running(process: Path) -> bool:
    """Whether the process of a folder of /proc is there, and no zombie that nobody has reaped."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_another_tvm_is_not_tested(runner: TestRunner, tree: Path) -> None:
    (tree / "elsewhere").mkdir()
    (tree / "test_c.py").write_text("def test_right(): pass\n")
    outcomes = runner.run(tree, tree / "elsewhere", ["test_c.py"], timeout=60)
    assert outcomes.crashed and not outcomes.passed
