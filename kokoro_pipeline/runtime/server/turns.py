"""Fair turns: who gets the next free engine.

A request asks for a turn for each of its pieces, so that a sentence is not kept waiting by a book.
Clients are served in rotation, and the requests of one client in the order in which they asked.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

E = TypeVar("E")


class Turns(Generic[E]):
    """Hands out engines; used in one event loop."""

    def __init__(self, engines: Iterable[E]) -> None:
        self._free = deque(engines)
        self._waiting: OrderedDict[str, deque[asyncio.Future[E]]] = OrderedDict()

    @property
    def waiting(self) -> int:
        """How many wait for a turn."""
        return sum(not each.done() for asked in self._waiting.values() for each in asked)

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncIterator[E]:
        """An engine for the length of a `with` block. Whoever is cancelled gives the turn on."""
        engine = await self._take(client)
        try:
            yield engine
        finally:
            self._give(engine)

    async def _take(self, client: str) -> E:
        if self._free and not self._waiting:
            return self._free.popleft()
        future: asyncio.Future[E] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(future)
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():  # given in the moment of the cancellation
                self._give(future.result())
            raise

    def _give(self, engine: E) -> None:
        while self._waiting:
            client, futures = self._waiting.popitem(last=False)
            future = futures.popleft()
            if futures:
                self._waiting[client] = futures  # at the end of the rotation
            if not future.done():
                future.set_result(engine)
                return
        self._free.append(engine)
