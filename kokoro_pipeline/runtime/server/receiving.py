"""The HTTP protocol of the server, which cuts the connections of clients that are too slow.

uvicorn waits for as long as a client takes to send its headers, the rest of a body that nobody
reads, or to take what is sent to it. Connections that move a byte a minute would fill the server.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from .settings import ServerSettings

_ANSWER = 2.0
"""Seconds more for a body: the application answers 408 before its connection is cut."""


class TimedProtocol(H11Protocol):
    """uvicorn's protocol with limits of time."""

    receive_limit = 30.0
    """Seconds for the headers of a request, and as many for its body."""
    send_limit = 600.0
    """Seconds for the client to take what waits to be sent."""
    _stalled: asyncio.TimerHandle | None = None
    _timer: asyncio.TimerHandle | None = None
    _timed: Any = None
    """What the client is expected to send: the headers (`h11.IDLE`), a body, or nothing."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected, and now has to send its request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """A part of a request has arrived."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._cancel()
        self._take()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Too much waits for the client."""
        super().pause_writing()
        self._stalled = self.loop.call_later(self.send_limit, self._cut)

    def resume_writing(self) -> None:
        """The client has taken it."""
        super().resume_writing()
        self._take()

    def _take(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _watch(self) -> None:
        """Time what the client has to send now, from the moment in which that changes."""
        expected = self.conn.their_state
        if expected is self._timed:
            return
        self._cancel()
        self._timed = expected
        if expected is h11.IDLE:
            self._timer = self.loop.call_later(self.receive_limit, self._cut)
        elif expected is h11.SEND_BODY:
            self._timer = self.loop.call_later(self.receive_limit + _ANSWER, self._cut)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _cut(self) -> None:
        self.transport.abort()  # nothing more is sent, and `connection_lost` ends the request


def protocol_within(settings: ServerSettings) -> type[TimedProtocol]:
    """The protocol with the limits of a server."""
    limits = {"receive_limit": settings.receive_limit, "send_limit": settings.time_limit}
    return type("TimedProtocol", (TimedProtocol,), limits)
