"""Reading the body of a request within limits of size and time."""

from __future__ import annotations

import codecs
from typing import Any, TypeVar

import anyio
import pydantic_core
from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect

from .problems import Problem
from .settings import ServerSettings

B = TypeVar("B", bound=BaseModel)

_TYPES = frozenset({"str", "VoiceId"})
"""Names of types that are no part of where a mistake is."""


async def read_body(request: Request, model: type[B], settings: ServerSettings) -> B:
    """The body as `model`. Raises Problem 400, 408, 413 or 415."""
    content = await _read(request, settings)
    try:
        # Not `json.loads`, which a body of nested arrays drives into the recursion limit.
        return model.model_validate_json(content)
    except ValidationError as error:
        raise _problem(error) from error


async def read_json(request: Request, settings: ServerSettings) -> Any:
    """The body as JSON values. Raises like `read_body`."""
    try:
        return pydantic_core.from_json(await _read(request, settings))
    except ValueError as error:
        raise Problem(400, f"the body is not JSON: {error}") from error


async def _read(request: Request, settings: ServerSettings) -> bytes:
    # Without one, too: a page of any site may send a body without asking, if it names no type.
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind.lower() not in ("application/json", "text/json"):
        raise Problem(415, f"the Content-Type is {kind[:60]!r}, expected application/json")
    coding = request.headers.get("content-encoding", "identity").strip()
    if coding.lower() != "identity":
        raise Problem(415, f"the body is compressed ({coding[:60]!r}): send it as it is")
    try:
        with anyio.fail_after(settings.receive_limit):
            content = await _limited(request, settings.max_body)
            return content.removeprefix(codecs.BOM_UTF8)
    except TimeoutError as error:
        raise Problem(
            408,
            f"the body did not arrive within {settings.receive_limit:g} s",
            headers={"Connection": "close"},
        ) from error


async def _limited(request: Request, limit: int) -> bytes:
    too_large = Problem(413, f"the body is larger than {limit} bytes", code="too_large")
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > limit:
        raise too_large
    content = bytearray()
    try:
        async for part in request.stream():
            content += part
            if len(content) > limit:
                raise too_large
    except ClientDisconnect as error:
        raise Problem(400, "the client left before its body was complete") from error
    return bytes(content)


def _problem(error: ValidationError) -> Problem:
    errors = error.errors(include_url=False, include_input=False, include_context=False)
    # Where a field may have one of several types, the one that fits best has the longest place.
    field = errors[0]["loc"][:1]
    first = max((e for e in errors if e["loc"][:1] == field), key=lambda e: len(e["loc"]))
    parts = [part for part in first["loc"] if isinstance(part, str) and part not in _TYPES]
    where = ".".join(parts) or None
    message = first["msg"] if where is None else f"{where}: {first['msg']}"
    return Problem(400, message, param=where, code=first["type"])
