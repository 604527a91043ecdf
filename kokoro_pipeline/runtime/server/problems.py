"""Errors as the API answers them, in OpenAI's form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fastapi.responses import JSONResponse

from kokoro_pipeline.errors import ArtifactError, InputError, KokoroError

from .engines import WorkerDied

_PATH = re.compile(r"(?<![\w.])/[^\s/]+/|\b[A-Za-z]:\\")
"""A path of the server's file system, which is none of a client's business."""


class Problem(Exception):
    """An error with the HTTP status that tells the client whose it is.

    `message` is what the client is told, and `logged` what the log says in its place, such as the
    path of a file.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        headers: dict[str, str] | None = None,
        logged: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code
        self.headers = headers or {}
        self.logged = message if logged is None else logged

    def body(self) -> dict[str, Any]:
        """The JSON of the answer."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        if self.status == 401:
            kind = "authentication_error"
        if self.status == 429:
            kind = "rate_limit_error"
        return {
            "error": {
                "message": self.message,
                "type": kind,
                "param": self.param,
                "code": self.code,
            }
        }

    def response(self) -> JSONResponse:
        """The answer."""
        return JSONResponse(self.body(), self.status, self.headers)


@contextmanager
def in_field(param: str, code: str = "invalid_value") -> Iterator[None]:
    """What the block refuses with InputError is a Problem of this field of the request."""
    try:
        yield
    except InputError as error:
        raise Problem(400, str(error), param=param, code=code) from error


def problem_of(error: Exception) -> Problem:
    """The problem that an exception is: the client's input, this machine, or a defect."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, InputError):
        return Problem(400, str(error), code="invalid_value")
    if isinstance(error, TimeoutError):
        return Problem(504, "the speech was not made within the time limit", code="timeout")
    if isinstance(error, ArtifactError):
        return Problem(
            503,
            "a file of the artifact is missing or damaged: the log of the server names it",
            code="artifact_damaged",
            logged=str(error),
        )
    if isinstance(error, WorkerDied):
        return Problem(
            503,
            "the worker that spoke this has died and is replaced: send the request again",
            code="unavailable",
            logged=str(error),
        )
    if isinstance(error, KokoroError):
        told = "the server lacks what this needs: the log of the server names it"
        message = told if _PATH.search(str(error)) else str(error)
        return Problem(503, message, code="unavailable", logged=str(error))
    return Problem(500, f"a defect of the server: {type(error).__name__}", code="internal_error")
