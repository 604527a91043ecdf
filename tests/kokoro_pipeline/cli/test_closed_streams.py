"""Commands whose standard streams the shell closed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = f'"{sys.executable}" -m kokoro_pipeline'


def shell(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", line],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.parametrize(
    ("line", "code", "err"),
    [
        (f"{PROGRAM} phonemize hello >&-", 3, "standard output is closed"),
        (f"{PROGRAM} phonemize hello --json >&-", 3, "standard output is closed"),
        (f"{PROGRAM} info absent 2>&-", 3, ""),
        (f"{PROGRAM} info absent >&- 2>&-", 3, ""),
        (f"{PROGRAM} phonemize - <&-", 3, "standard input is closed: give TEXT or -f FILE"),
        (f"{PROGRAM} say - -o - --artifact absent <&-", 3, "standard input is closed"),
        (f"{PROGRAM} --help >&-", 3, "standard output is closed"),
        (f"{PROGRAM} nonsense 2>&-", 2, ""),
    ],
)
def test_a_closed_stream_is_no_defect_of_the_program(line: str, code: int, err: str) -> None:
    done = shell(line)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr and "bug" not in done.stderr
    assert err in done.stderr


def test_messages_do_not_end_up_in_files(tmp_path: Path) -> None:
    """With standard error closed, the file would get its number."""
    file = tmp_path / "x.wav"
    done = shell(f"{PROGRAM} say hello --artifact absent -o {file} 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")
    assert not file.exists()


def test_an_argument_is_utf8_whatever_the_locale() -> None:
    done = shell(f"LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 {PROGRAM} phonemize café")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "kæfˈA\n"
