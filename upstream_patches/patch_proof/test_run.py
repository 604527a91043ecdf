"""Runs test files against a tree, each time in a process of its own, and reads every outcome.

Importing torch and pytest takes longer than most of the tests, and neither depends on the tree. So
a server imports them once, and forks for every run a process that then imports tvm from the tree.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

# The child fails rather than test the installed package by mistake.
_SERVER = """
import json, os, sys, time, traceback
import numpy, pytest, torch, torch.export, torch.fx, torch._dynamo, torch._decomp
assert "tvm" not in sys.modules

def run(job):
    os.chdir(job["root"])
    output = os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.environ["PYTHONPATH"] = job["python"]
    sys.path.insert(0, job["python"])
    exec(job["loading"])
    import tvm
    assert tvm.__file__.startswith(job["python"]), f"tested {tvm.__file__}"
    return int(pytest.main(job["arguments"]))

for line in sys.stdin:
    job = json.loads(line)
    child = os.fork()
    if child == 0:
        code = 3
        try:
            os.setsid()
            code = run(job)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    deadline = time.monotonic() + job["timeout"]
    ended, status = os.waitpid(child, os.WNOHANG)
    while not ended and time.monotonic() < deadline:
        time.sleep(0.05)
        ended, status = os.waitpid(child, os.WNOHANG)
    try:
        os.killpg(child, 9)  # also what the tests started and left, such as worker processes
    except ProcessLookupError:
        pass
    if not ended:
        os.waitpid(child, 0)
    print("ended" if ended else "stopped", flush=True)
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
    return _base_environment() | {"PYTHONPATH": str(python)}


def _base_environment() -> dict[str, str]:
    dropped = ("PYTHONHOME", "PYTHONPATH", "PYTEST_ADDOPTS")
    kept = {key: value for key, value in os.environ.items() if key not in dropped}
    return kept | {"OMP_NUM_THREADS": "1", "TVM_NUM_THREADS": "1"}


def loading(libraries: Sequence[Path]) -> str:
    """Statements that load libraries in order, for the start of a program.

    Modules of tvm keep the global functions that are registered when they are imported, so
    libraries that replace some have to be loaded before.
    """
    if not libraries:
        return ""
    lines = [f"ctypes.CDLL({str(library)!r})" for library in libraries]
    return "\n".join(["import ctypes, tvm_ffi", *lines, ""])


class TestRunner:
    """A server of test runs, one at a time; a context manager, at whose end the server ends."""

    __test__ = False  # not a class of tests, whatever pytest reads from its name

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-c", _SERVER],
            env=_base_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> TestRunner:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait()

    def run(
        self,
        root: Path,
        python: Path,
        files: Sequence[str],
        *,
        timeout: float,
        libraries: Sequence[Path] = (),
    ) -> Outcomes:
        """Run the test files of `root` with tvm from `python`, for at most `timeout` seconds.

        `libraries` are loaded first, in their order.
        """
        report, said = root / ".git" / "junit.xml", root / ".git" / "pytest.txt"
        report.unlink(missing_ok=True)
        options = ["-q", "--tb=short", "--show-capture=no", "-W", "ignore"]
        options += ["-p", "no:cacheprovider", "--continue-on-collection-errors"]
        options += ["-c", os.devnull, "--rootdir", str(root), f"--junitxml={report}"]
        job = {
            "root": str(root),
            "python": str(python),
            "loading": loading(libraries),
            "output": str(said),
            "arguments": [*options, *files],
            "timeout": timeout,
        }
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(json.dumps(job) + "\n")
        self._server.stdin.flush()
        answer = self._server.stdout.readline().strip()
        output = said.read_text(encoding="utf-8", errors="replace")[-6000:]
        if not answer:
            raise RuntimeError(f"the process that runs the tests has ended:\n{output}")
        if answer == "stopped":
            return Outcomes(
                frozenset(), frozenset(), True, f"{output}\nstopped after {timeout:.0f} s"
            )
        return read_report(report, output)


def read_report(report: Path, output: str) -> Outcomes:
    """The outcomes in a JUnit file, which a run that crashed has not written."""
    if not report.is_file():
        return Outcomes(frozenset(), frozenset(), True, output)
    passed, failed = set(), set()
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
        (failed if len(case) else passed).add(name)
    return Outcomes(frozenset(passed - failed), frozenset(failed), False, output)
