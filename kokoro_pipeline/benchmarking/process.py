"""A contender's process, which runs one role, so that thread pools and memory do not mix."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from ..errors import EnvironmentFault, InputError, KokoroError

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "TVM_NUM_THREADS")
# Our choice: compiling is slow, but a deadlock must end at some point.
ANSWER_SECONDS = 1800.0


class ContenderProcess:
    """A process that runs one role on `threads` threads and answers calls.

    The role is the class `kind`, "module:Class", constructed with `(role, threads, **options)`.

    Use it in a `with` block, which ends the process. Every call raises the error of the role if it
    is a KokoroError, and EnvironmentFault if the role failed otherwise, the process died, or it
    took longer than `patience` seconds.
    """

    def __init__(
        self,
        kind: str,
        role: str,
        threads: int,
        *,
        patience: float = ANSWER_SECONDS,
        **options: str,
    ) -> None:
        self.role = role
        self._patience = patience
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_work_and_end, args=(theirs, role, threads, kind, options), daemon=True
        )
        self._process.start()
        theirs.close()
        try:
            self._receive()
        except BaseException:
            self.close()
            raise

    def call(self, method: str, **arguments: Any) -> Any:
        """Call a method of the role and return its result."""
        try:
            self._connection.send((method, arguments))
        except OSError:
            raise self._ended() from None
        return self._receive()

    def close(self) -> None:
        """End the process. May be called more than once."""
        self._connection.close()  # its loop ends with its input
        self._process.join(timeout=10)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def __enter__(self) -> ContenderProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _receive(self) -> Any:
        try:
            if not self._connection.poll(self._patience):
                self._process.kill()
            result = self._connection.recv()
        except (EOFError, OSError):
            raise self._ended() from None
        if isinstance(result, KokoroError):
            raise result
        return result

    def _ended(self) -> EnvironmentFault:
        self._process.join(timeout=10)
        status = self._process.exitcode or 0
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        if status == -signal.SIGKILL:
            how += f" (out of memory, or no answer within {self._patience:g} s)"
        return EnvironmentFault(f"the process of {self.role} {how}; its messages stand above")


def _work_and_end(*arguments: Any) -> None:
    """Work, and end without the destructors of libraries, some of whose pools of threads abort."""
    _work(*arguments)
    sys.stderr.flush()
    os._exit(0)


def _work(
    connection: Connection, role: str, threads: int, kind: str, options: Mapping[str, str]
) -> None:
    """Construct the role and answer calls until the other side closes the connection."""
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, str(threads)))  # before pools start
    os.dup2(2, 1)  # what libraries print must not mix with the report
    module, _, name = kind.partition(":")
    answering: Any = None
    try:
        while True:
            try:
                if answering is None:
                    answering = getattr(importlib.import_module(module), name)(
                        role, threads, **options
                    )
                    result = None
                else:
                    result = _call(answering, *connection.recv())
            except EOFError:
                return
            except KokoroError as error:
                result = error
            except Exception as error:  # noqa: BLE001 -- raised where the call was made
                traceback.print_exc()
                first = next(iter(str(error).strip().splitlines()), "no message")
                result = EnvironmentFault(f"{role} failed: {type(error).__name__}: {first}")
            connection.send(result)
            if answering is None:
                return
    except OSError:  # the other side is gone
        return


def _call(role: Any, method: str, arguments: Mapping[str, Any]) -> Any:
    if method.startswith("_") or not callable(getattr(role, method, None)):
        raise InputError(f"{type(role).__name__} has no method {method!r}")
    return getattr(role, method)(**arguments)
