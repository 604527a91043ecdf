"""Ask a fresh Python process a question that may kill it, hang it or load half the world."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

MARK = "kokoro-pipeline-answer:"

# `-c` puts the current folder first on the path, where a stray tvm.py would be found: the folder of
# this very package goes there in its place.
_PRELUDE = f"""\
import json, sys
sys.path[0] = {str(Path(__file__).resolve().parents[2])!r}
def answer(value):
    print({MARK!r} + json.dumps(value), flush=True)
"""


class NoAnswerError(Exception):
    """The process ended, or was ended, without an answer. The message says how, in one line."""


def ask(code: str, *, timeout: float) -> Any:
    """Run Python `code`, which calls `answer(value)` once, and return that value (JSON).

    Raises NoAnswerError where it raises, is killed by a signal, exits early or takes over
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
