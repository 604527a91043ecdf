"""The process of a contender, from the side of the caller."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from .. import errors
from ..errors import EnvironmentFault

# `-c` puts the current folder first on the path, where a stray tvm.py would be found. Replace it by
# the folder that this package is imported from.
_PROGRAM = f"""\
import sys
sys.path[0] = {str(Path(__file__).resolve().parents[2])!r}
from kokoro_pipeline.benchmarking.worker import main
main()
"""
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "TVM_NUM_THREADS")
# Our choice: compiling is slow, but a deadlock must end at some point.
ANSWER_SECONDS = 1800.0


class ContenderProcess:
    """A process that runs one role on `threads` threads and answers calls.

    The role is one of `worker.ROLES`, or any name with its `kind`, "module:Class" of a checkout.

    Use it in a `with` block, which ends the process. Every call raises the error of the role if it
    is a KokoroError, and EnvironmentFault if the role failed otherwise, the process died, or it
    took longer than `patience` seconds.
    """

    def __init__(
        self,
        role: str,
        threads: int,
        *,
        kind: str = "",
        patience: float = ANSWER_SECONDS,
        **options: str,
    ) -> None:
        self.role = role
        self._patience = patience
        self._words = tempfile.TemporaryFile(  # noqa: SIM115 -- `close` closes it
            mode="w+", encoding="utf-8", errors="replace"
        )
        environment = os.environ | dict.fromkeys(_THREAD_VARIABLES, str(threads))
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            encoding="utf-8",
            env=environment,
        )
        start = {"role": role, "kind": kind, "threads": threads, "options": options}
        try:
            self.start_answer = self._ask(start)
        except BaseException:
            self.close()
            raise

    def call(self, method: str, **arguments: Any) -> Any:
        """Call a method of the role; returns its result, converted by JSON."""
        return self._ask({"call": method, "with": arguments})

    def close(self) -> None:
        """End the process. May be called more than once."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            with contextlib.suppress(BrokenPipeError):  # it has already ended
                self._process.stdin.close()  # the worker's loop ends with its input
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._words.close()

    def __enter__(self) -> ContenderProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _ask(self, message: dict[str, Any]) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        watchdog = threading.Timer(self._patience, self._process.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            print(json.dumps(message), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watchdog.cancel()
        if not line:
            raise EnvironmentFault(f"the process of {self.role} {self._end()}")
        answer = json.loads(line)
        if "fault" in answer:
            raise self._fault(answer["fault"], answer["message"])
        return answer["result"]

    def _end(self) -> str:
        """Describe how the process ended."""
        status = self._process.wait()
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        if status == -9:
            how += f" (out of memory, or no answer within {self._patience:g} s)"
        return f"{how}; its last words: {self._last_words()}"

    def _last_words(self) -> str:
        self._words.seek(0)
        lines = [line.strip() for line in self._words.read().splitlines() if line.strip()]
        return " / ".join(lines[-3:]) or "none"

    def _fault(self, name: str, message: str) -> Exception:
        kind = getattr(errors, name, None)
        if isinstance(kind, type) and issubclass(kind, errors.KokoroError):
            return kind(message)
        return EnvironmentFault(f"{self.role} failed: {name}: {message}")
