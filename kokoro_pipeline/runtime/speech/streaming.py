"""Pieces of speech in order, the next one made while the caller uses the last."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterator
from concurrent.futures import CancelledError, Future
from typing import Any

from ..engine.dispatcher import INTERRUPT_SECONDS
from .result import Speech

Stopped = Callable[[], bool]
Make = Callable[[Stopped], Iterator[Speech]]
"""Makes the pieces; asks now and then whether it should stop, and then ends."""

_END = object()


class SpeechStream(Iterator[Speech]):
    """An iterator of pieces that are made on a thread of its own, one ahead of the caller.

    The work ends with `close`, at the end of a `with` block, and when the stream is no longer
    referred to, which leaving a `for` loop does. Several consumers share the pieces, each of which
    one of them gets.
    """

    def __init__(self, make: Make) -> None:
        self._results: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._wanted = threading.Semaphore(2)  # the piece that is asked for and the next
        self._stop = threading.Event()
        self._ended = False
        # The thread must not refer to the stream, which would then never be collected.
        arguments = (make, self._results, self._wanted, self._stop)
        threading.Thread(target=_work, args=arguments, name="kokoro-stream", daemon=True).start()

    def __next__(self) -> Speech:
        """Wait for the next piece. Raises what making it raised."""
        result = self._next_result()
        if isinstance(result, Speech):
            self._wanted.release()
            return result
        self._ended = True
        if isinstance(result, BaseException):
            raise result
        raise StopIteration

    def _next_result(self) -> Any:
        # Signal handlers of libraries make a wait restart: only a timeout lets Ctrl-C through.
        while not self._ended:  # it ends for all threads that wait
            with contextlib.suppress(queue.Empty):
                return self._results.get(timeout=INTERRUPT_SECONDS)
        return _END

    def close(self) -> None:
        """End the work after the part of a piece that is being made. Does not wait for that."""
        self._stop.set()
        self._ended = True
        self._wanted.release()

    def __enter__(self) -> SpeechStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_wanted"):
            self.close()


def _work(
    make: Make,
    results: queue.SimpleQueue[Any],
    wanted: threading.Semaphore,
    stop: threading.Event,
) -> None:
    try:
        pieces = make(stop.is_set)
        while True:
            wanted.acquire()
            if stop.is_set():
                return
            piece = next(pieces, None)
            if piece is None:
                break
            results.put(piece)
            del piece
    except BaseException as error:  # noqa: BLE001 - raised in the caller
        results.put(error)
    else:
        results.put(_END)


async def pieces_of(
    stream: SpeechStream, text: PulledText | None = None
) -> AsyncGenerator[Speech, None]:
    """The pieces of a stream, without blocking the event loop.

    The stream and the text that it reads are closed at the end.
    """
    try:
        while (piece := await asyncio.to_thread(next, stream, None)) is not None:
            yield piece
    finally:
        stream.close()
        if text is not None:
            text.close()


class PulledText:
    """Strings of an asynchronous source, pulled one by one from another thread."""

    def __init__(self, source: AsyncIterable[str]) -> None:
        """Must be called in the event loop that the source belongs to."""
        self._source = aiter(source)
        self._loop = asyncio.get_running_loop()
        self._pending: Future[str] | None = None
        self._closed = False

    def __iter__(self) -> Iterator[str]:
        while not self._closed:
            self._pending = asyncio.run_coroutine_threadsafe(self._next(), self._loop)
            try:
                part = self._pending.result()
            except (StopAsyncIteration, CancelledError):
                return
            yield part

    async def _next(self) -> str:
        return await anext(self._source)

    def close(self) -> None:
        """Stop waiting for the source."""
        self._closed = True
        if self._pending is not None:
            self._pending.cancel()
