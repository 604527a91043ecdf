"""Run code in a fresh Python process, because it may crash, hang, or import large packages."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

MARK = "kokoro-pipeline-answer:"

# `-c` puts the current folder first on the path, where a stray tvm.py would be found. Replace it by
# the folder of this package.
_PRELUDE = f"""\
import json, sys
sys.path[0] = {str(Path(__file__).resolve().parents[2])!r}
def answer(value):
    print({MARK!r} + json.dumps(value), flush=True)
"""


class NoAnswerError(Exception):
    """The process ended or was killed without an answer. The message is one line."""


def ask(code: str, *, timeout: float) -> Any:
    """Run Python `code`, which calls `answer(value)` once, and return that value (JSON).

    Raises NoAnswerError if the code raises, is killed by a signal, exits early, or takes more than
    `timeout` seconds.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PRELUDE + code],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise NoAnswerError(f"no answer within {timeout:g} s") from error
    for line in reversed(done.stdout.splitlines()):
        if line.startswith(MARK):
            return json.loads(line.removeprefix(MARK))
    last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "")
    if done.returncode < 0:
        last = f"killed by signal {-done.returncode}"
    raise NoAnswerError(last.strip() or f"ended with status {done.returncode} and no word")
