"""The matrix of TVM versions: distributing files, adding outcomes, parsing pytest's summary."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

# A script beside this file, which is no package: pytest runs in importlib mode. The folder does not
# stay on the path, where tests/tvm_kokoro_ext would be found as the package.
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(str(Path(__file__).parent))
    import version_matrix
    from version_matrix import NO_TESTS, Outcome


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ((0, 0), 0),
        ((0, 1), 1),
        ((-11, 0), -11),  # killed by a signal
        ((0, -11), -11),
        ((NO_TESTS, 0), 0),  # -k selected nothing in one process
        ((NO_TESTS, NO_TESTS), NO_TESTS),
        ((NO_TESTS, 2), 2),
    ],
)
def test_a_pair_fails_when_one_of_its_processes_does(codes, expected):
    first, second = (Outcome(code, Counter(passed=2), 1.0) for code in codes)
    assert first + second == Outcome(expected, Counter(passed=4), 2.0)


def test_every_file_is_dealt_once(tmp_path):
    files = [tmp_path / f"test_{letter}.py" for letter in "abcde"]
    for size, path in enumerate(files):
        path.write_text("x" * 100 * size)
    groups = version_matrix.deal(files, 2)
    assert sorted(path for group in groups for path in group) == files
    sizes = [sum(path.stat().st_size for path in group) for group in groups]
    assert max(sizes) - min(sizes) <= 400
    assert version_matrix.deal(files[:1], 2) == [files[:1]]


def test_in_turn_each_test_runs_on_one_pair():
    def collected(arguments):
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", __file__, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return [line for line in done.stdout.splitlines() if "::" in line]

    chosen = [collected(arguments) for arguments in version_matrix.turns(2, in_turn=True)]
    assert version_matrix.turns(2, in_turn=False) == [[], []]
    everything = collected([])
    assert len(everything) > 2 and all(chosen)
    assert sorted(chosen[0] + chosen[1]) == sorted(everything)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "code", "counts"),
    [
        ("def test_a(): pass\ndef test_b(): pass", 0, {"passed": 2}),
        ("def test_a(): assert False\ndef test_b(): pass", 1, {"passed": 1, "failed": 1}),
        ("import os\ndef test_a(): os.abort()", -6, {}),
    ],
)
def test_summary_of_a_run(tmp_path, body, code, counts):
    path = tmp_path / "test_it.py"
    path.write_text(body)
    outcome = version_matrix.run(sys.executable, [path], ["-p", "no:cacheprovider"])
    assert (outcome.code, outcome.counts) == (code, Counter(counts))
