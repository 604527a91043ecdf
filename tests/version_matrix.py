"""Run the extension's tests on every supported pair of apache-tvm and apache-tvm-ffi, side by side.

    python tests/version_matrix.py [--directory DIR] [--only 0.25] [-- pytest arguments]

One environment per pair holds nothing but the pair; torch, numpy and pytest come from the
environment this runs in, behind it on the path. Prints one table; the exit code is 0 when every
pair passes, 1 when a test fails, 3 when an environment cannot be made.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TESTS = REPOSITORY / "tests" / "tvm_kokoro_ext"
PAIRS = (
    ("0.25.0", "0.1.12"),
    ("0.26.0", "0.1.15.post2"),
    ("0.27.0.post1", "0.1.15.post2"),
)


@dataclass(frozen=True)
class Outcome:
    """What one pair's run came to."""

    tvm: str
    ffi: str
    code: int
    summary: str
    seconds: float


def environment(directory: Path, tvm: str, ffi: str) -> Path:
    """The interpreter of an environment with this pair in front of the present environment.

    Raises
    ------
    subprocess.CalledProcessError
        When the pair cannot be installed.
    """
    home = directory / f"tvm-{tvm}"
    python = home / "bin" / "python"
    ready = home / "ready"
    if not ready.exists():
        venv.create(home, with_pip=True, clear=True)
        pair = [f"apache-tvm=={tvm}", f"apache-tvm-ffi=={ffi}"]
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", *pair], check=True)
        query = "import sysconfig; print(sysconfig.get_path('purelib'))"
        own = subprocess.run([python, "-c", query], check=True, capture_output=True, text=True)
        shared = dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
        (Path(own.stdout.strip()) / "zz_shared.pth").write_text("\n".join(shared) + "\n")
        ready.touch()
    check = (
        "import importlib.metadata as m, tvm; "
        "print(m.version('apache-tvm'), m.version('apache-tvm-ffi'))"
    )
    seen = subprocess.run([python, "-c", check], check=True, capture_output=True, text=True)
    if seen.stdout.split() != [tvm, ffi]:
        raise RuntimeError(f"{home} has {seen.stdout.strip()}, not {tvm} {ffi}")
    return python


def run(python: Path, tvm: str, ffi: str, arguments: list[str]) -> Outcome:
    """Run the tests with one interpreter; their output goes to stderr."""
    started = time.monotonic()
    result = subprocess.run(
        [python, "-m", "pytest", "-q", "--tb=short", "--show-capture=no", *arguments, TESTS],
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE,
        text=True,
    )
    print(result.stdout, file=sys.stderr)
    found = re.findall(r"^=*\s*(\d+ (?:passed|failed|error).*?) in [\d.]+s", result.stdout, re.M)
    summary = found[-1] if found else "no summary"
    return Outcome(tvm, ffi, result.returncode, summary, time.monotonic() - started)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", type=Path, help="keep the environments here")
    parser.add_argument("--only", action="append", help="only apache-tvm versions that start so")
    parser.add_argument("arguments", nargs="*", help="passed to pytest")
    options = parser.parse_args(argv)
    pairs = [p for p in PAIRS if not options.only or p[0].startswith(tuple(options.only))]
    outcomes = []
    with tempfile.TemporaryDirectory() as scratch:
        for tvm, ffi in pairs:
            try:
                python = environment(options.directory or Path(scratch), tvm, ffi)
            except (subprocess.CalledProcessError, OSError, RuntimeError) as error:
                print(f"error: no environment for apache-tvm {tvm}: {error}", file=sys.stderr)
                return 3
            outcomes.append(run(python, tvm, ffi, options.arguments))
    print(f"{'apache-tvm':14}{'apache-tvm-ffi':16}{'exit':6}{'seconds':9}result")
    for o in outcomes:
        print(f"{o.tvm:14}{o.ffi:16}{o.code:<6}{o.seconds:<9.0f}{o.summary}")
    return int(any(outcome.code for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
