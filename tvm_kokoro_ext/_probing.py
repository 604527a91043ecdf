"""Run probes where nothing of the caller's state reaches them, and keep their answers.

A probe examines stock TVM, which cannot change, so each runs once in a process. A probe may run
deep inside somebody's program, below a current target, a pass context, a block builder or a mode of
torch. All of these belong to a thread; the probes therefore run in a thread of their own.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from tvm_kokoro_ext._fix import Fix

_answers: dict[str, bool | Exception] = {}
_thread: threading.Thread | None = None


def answered(fix: Fix) -> bool:
    """Whether the probe of a fix has run."""
    return fix.id in _answers


def answer(fix: Fix) -> bool:
    """Whether the probe has found the defect; raises what the probe has raised."""
    found = _answers[fix.id]
    if isinstance(found, Exception):
        raise found
    return found


def probing() -> bool:
    """Whether the caller is a probe."""
    return threading.current_thread() is _thread


def ask(fixes: Sequence[Fix]) -> None:
    """Run the probes of these fixes, with everything that a probe examines as TVM brings it."""
    global _thread
    # Not by Thread.join, which takes a thread for ended when it is interrupted, up to Python 3.12.
    stopped, ended = threading.Event(), threading.Event()

    def run() -> None:
        try:
            for fix in fixes:
                if stopped.is_set():
                    return
                assert fix.probe is not None
                try:
                    _answers[fix.id] = bool(fix.probe())
                except Exception as error:  # noqa: BLE001 - must not stop the other probes
                    _answers[fix.id] = error
        finally:
            ended.set()

    _thread = threading.Thread(target=run, name="tvm_kokoro_ext probes", daemon=True)
    try:
        _thread.start()
        ended.wait()
    finally:  # an interrupt: a probe that still runs must not see the effects come back
        stopped.set()
        if _thread.is_alive():  # otherwise it has ended, or sees that it is to stop
            ended.wait()
        _thread = None
