"""Failures in the log: one line where a line says it all, and a traceback for a defect."""

from __future__ import annotations

import asyncio
import logging

from .problems import problem_of

log = logging.getLogger("kokoro_pipeline.server")


class BrokenAnswer(Exception):
    """Breaks the connection of an answer that has begun and cannot be completed.

    Whoever raises it has logged why. The HTTP server ends a connection only for an exception, and
    logs each with a traceback, unless `WithoutBrokenAnswers` filters its log.
    """


class WithoutBrokenAnswers(logging.Filter):
    """Leaves out the tracebacks of a `BrokenAnswer` and of requests that the server cancels.

    It cancels those that have not ended some time after SIGTERM, and says how many they are.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written."""
        return not (record.exc_info and _is_told(record.exc_info[1]))


def _is_told(error: BaseException | None) -> bool:
    # Tasks wrap it in a group of one.
    grouped = getattr(error, "exceptions", ())
    told = isinstance(error, BrokenAnswer | asyncio.CancelledError)
    return told or (bool(grouped) and all(map(_is_told, grouped)))


def log_failure(what: str, error: Exception) -> None:
    """Say what has failed and why: in one line, or for a defect of the server with a traceback."""
    problem = problem_of(error)
    if problem.status == 500:
        log.error(what, exc_info=error)
    else:  # the machine's state, such as too much work, or the client's input
        log.warning("%s: %s", what, problem.logged)
