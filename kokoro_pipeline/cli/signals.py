"""Ends that other programs ask for: `kill`, `timeout`, a terminal that is closed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ASKED = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Terminated(BaseException):
    """A signal that ends the process, raised like KeyboardInterrupt so that files are completed."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


@contextmanager
def signals_raised() -> Iterator[None]:
    """Raise Terminated for SIGTERM and SIGHUP, where they would end the process at once.

    A signal that is ignored stays so, as that of the terminal under `nohup`.
    """

    def end(number: int, _: FrameType | None) -> None:
        raise Terminated(number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    changed = [number for number in _ASKED if signal.getsignal(number) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)
