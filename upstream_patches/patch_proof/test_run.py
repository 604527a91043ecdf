"""Run test files against a tree, each time in a separate process, and collect the outcomes.

Importing torch and pytest takes longer than most of the tests, and does not depend on the tree.
Therefore a server imports them once, and forks a process for every run, which then imports tvm from
the tree.
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

# The child fails if it would test the installed package by mistake.
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
    """The outcomes of a run.

    `passed` and `failed` contain test names; `crashed` means that the process ended early. A
    skipped test counts as failed, since it does not prove anything. `output` is the end of the
    output of pytest.
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
    """Python statements that load libraries in order, for the start of a program.

    Modules of tvm keep the global functions that are registered when they are imported, so
    libraries that replace some of them have to be loaded before.
    """
    if not libraries:
        return ""
    lines = [f"ctypes.CDLL({str(library)!r})" for library in libraries]
    return "\n".join(["import ctypes, tvm_ffi", *lines, ""])


class TestRunner:
    """A context manager for a server that runs tests, one run at a time."""

    __test__ = False  # despite its name, this is not a test class

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

        `libraries` are loaded first, in order.
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
    """Read the outcomes from a JUnit file, which does not exist if the run crashed."""
    if not report.is_file():
        return Outcomes(frozenset(), frozenset(), True, output)
    passed, failed = set(), set()
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
        (failed if len(case) else passed).add(name)
    return Outcomes(frozenset(passed - failed), frozenset(failed), False, output)
