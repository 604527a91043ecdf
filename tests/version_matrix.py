"""Run the extension's tests on every supported pair of apache-tvm and apache-tvm-ffi, side by side.

    python tests/version_matrix.py [--directory DIR] [--only 0.25] [--jobs 2] [--in-turn]
                                   [-- pytest arguments]

Each pair has an environment that contains only the pair. torch, numpy and pytest come from the
environment that runs this script, which is later on the path. The test files of a pair are
distributed over as many processes as there are jobs. With `--in-turn`, each test runs on one of the
pairs only. Prints one table. The exit code is 0 if every
pair passes, 1 if a test fails, and 3 if an environment cannot be created.
"""

from __future__ import annotations

import argparse
import functools
import operator
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TESTS = REPOSITORY / "tests" / "tvm_kokoro_ext"
PAIRS = (
    ("0.25.0", "0.1.12"),
    ("0.26.0", "0.1.15.post2"),
    ("0.27.0.post1", "0.1.15.post2"),
)


NO_TESTS = 5  # pytest's exit code where nothing was selected


@dataclass(frozen=True)
class Outcome:
    """What one process, or all processes of one pair, came to; `counts` is by pytest's words."""

    code: int
    counts: Counter[str]
    seconds: float

    def __add__(self, other: Outcome) -> Outcome:
        """Combine two outcomes; a failure or a killed process of either is one of the pair."""
        codes = [code for code in (self.code, other.code) if code != NO_TESTS] or [NO_TESTS]
        code = next((code for code in codes if code), 0)
        return Outcome(code, self.counts + other.counts, self.seconds + other.seconds)


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


def run(python: Path, files: Sequence[Path], arguments: Sequence[str]) -> Outcome:
    """Run test files with one interpreter; their output goes to stderr."""
    started = time.monotonic()
    result = subprocess.run(
        [
            *(python, "-m", "pytest", "-q", "--tb=short", "--show-capture=no"),
            *("-m", "not slow and not sweep and not models"),
            *(*arguments, *files),
        ],
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE,
        text=True,
    )
    print(result.stdout, file=sys.stderr, flush=True)
    summaries = re.findall(r"^=*\s*(\d+ \w+.*) in [\d.]+s", result.stdout, re.MULTILINE)
    found = re.findall(r"(\d+) (\w+)", summaries[-1]) if summaries else []
    counts = Counter({word.rstrip("s"): int(number) for number, word in found})
    return Outcome(result.returncode, counts, time.monotonic() - started)


def deal(files: Sequence[Path], hands: int) -> list[list[Path]]:
    """The files in `hands` groups of about the same size, the largest files first."""
    groups: list[list[Path]] = [[] for _ in range(min(hands, len(files)))]
    for path in sorted(files, key=lambda path: (-path.stat().st_size, path.name)):
        min(groups, key=lambda group: sum(p.stat().st_size for p in group)).append(path)
    return groups


def turns(pairs: int, in_turn: bool) -> list[list[str]]:
    """The arguments of pytest that give each test to one of the pairs, or to all of them."""
    return [["--turn", f"{pair}/{pairs}"] if in_turn else [] for pair in range(pairs)]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", type=Path, help="keep the environments here")
    parser.add_argument("--only", action="append", help="only apache-tvm versions that start so")
    parser.add_argument(
        "--jobs", type=int, default=min(2, os.cpu_count() or 1), help="processes at once"
    )
    parser.add_argument("--in-turn", action="store_true", help="run each test on one pair only")
    parser.add_argument("arguments", nargs="*", help="passed to pytest")
    options = parser.parse_args(argv)
    pairs = [p for p in PAIRS if not options.only or p[0].startswith(tuple(options.only))]
    if not pairs:
        parser.error(f"no supported apache-tvm starts with {' or '.join(options.only)}")
    groups = deal(sorted(TESTS.glob("test_*.py")), max(1, options.jobs))
    with tempfile.TemporaryDirectory() as scratch:
        pythons = []
        for tvm, ffi in pairs:
            try:
                pythons.append(environment(options.directory or Path(scratch), tvm, ffi))
            except (subprocess.CalledProcessError, OSError, RuntimeError) as error:
                print(f"error: no environment for apache-tvm {tvm}: {error}", file=sys.stderr)
                return 3
        with ThreadPoolExecutor(max(1, options.jobs)) as pool:
            running = [
                [pool.submit(run, python, group, [*options.arguments, *turn]) for group in groups]
                for python, turn in zip(pythons, turns(len(pythons), options.in_turn), strict=True)
            ]
            outcomes = [
                functools.reduce(operator.add, (future.result() for future in futures))
                for futures in running
            ]
    print(f"{'apache-tvm':14}{'apache-tvm-ffi':16}{'exit':6}{'seconds':9}result")
    for (tvm, ffi), o in zip(pairs, outcomes, strict=True):
        summary = ", ".join(f"{number} {word}" for word, number in sorted(o.counts.items()))
        print(f"{tvm:14}{ffi:16}{o.code:<6}{o.seconds:<9.0f}{summary or 'no summary'}")
    return int(any(outcome.code for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
