"""What makes speech for the server: a synthesizer in this process, or worker processes.

All workers map the same parameter file, which the operating system holds in memory once.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import signal
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from kokoro_pipeline.errors import EnvironmentFault, KokoroError

from ..speech.pieces import Piece
from ..speech.request import SpeechRequest
from ..speech.result import Speech
from ..speech.synthesizer import Synthesizer, load

IDLE_SECONDS = 5.0
"""After so many without a job, an engine gives the memory back that the last one took."""


@dataclass(frozen=True)
class Job:
    """A piece to synthesize."""

    piece: Piece
    voice: str
    speed: float
    seed: int
    first_chunk: int
    """Number of its first chunk in the request."""

    def run(self, synthesizer: Synthesizer) -> Speech | None:
        """The speech, or None if no symbol of the piece is known to the model."""
        # What is said is in the piece, which is only silence at the end of some texts.
        request = SpeechRequest("", voice=self.voice, speed=self.speed, seed=self.seed)
        return synthesizer.render_piece(self.piece, request, self.first_chunk)


class Engine(Protocol):
    """Makes one piece at a time."""

    async def run(self, job: Job) -> Speech | None:
        """Synthesize. Raises WorkerDied if the engine was lost while it worked."""
        ...

    def close(self) -> None:
        """End it after the piece that it works on."""
        ...


class WorkerDied(EnvironmentFault):
    """A worker process ended while it worked; another one takes its place.

    The message names the process and how it ended, which is for the log and not for clients.
    """


class LocalEngine:
    """A synthesizer in this process."""

    def __init__(self, artifact: Path, threads: int | None) -> None:
        self._synthesizer = load(artifact, threads=threads)
        self._idle: asyncio.TimerHandle | None = None

    async def run(self, job: Job) -> Speech | None:
        """See `Engine`."""
        self._used()
        try:
            return await asyncio.to_thread(job.run, self._synthesizer)
        finally:
            loop = asyncio.get_running_loop()
            self._idle = loop.call_later(
                IDLE_SECONDS, loop.run_in_executor, None, self._synthesizer.release_memory
            )

    def _used(self) -> None:
        if self._idle is not None:
            self._idle.cancel()

    def close(self) -> None:
        """See `Engine`."""
        self._used()
        self._synthesizer.close()


class ProcessEngine:
    """A synthesizer in a process of its own, which is replaced if it dies."""

    def __init__(self, artifact: Path, threads: int | None) -> None:
        """Start the process and wait until it has loaded. Raises what loading raises."""
        self._arguments = (artifact, threads)
        self._closed = False
        self._lock = threading.Lock()
        self._start()

    @property
    def pid(self) -> int | None:
        """Number of the process."""
        return self._process.pid

    async def run(self, job: Job) -> Speech | None:
        """See `Engine`."""
        return await asyncio.to_thread(self._run, job)

    def close(self) -> None:
        """See `Engine`."""
        self._closed = True
        with contextlib.suppress(OSError):
            self._connection.send(None)
        self._process.join(timeout=30)
        if self._process.is_alive():
            self._process.kill()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_work, args=(theirs, *self._arguments), name="kokoro-worker", daemon=True
        )
        self._process.start()
        theirs.close()
        self._receive()

    def _run(self, job: Job) -> Speech | None:
        with self._lock:
            if not self._process.is_alive() and not self._closed:
                self._start()  # it died between two pieces, which nobody needs to know
            try:
                self._connection.send(job)
                result: Speech | None = self._receive()
            except (EOFError, OSError) as error:
                died = f"worker process {self.pid} {self._end()} while it spoke"
                if self._closed:
                    raise WorkerDied(died) from error
                self._start()
                raise WorkerDied(f"{died}, and is replaced") from error
            return result

    def _end(self) -> str:
        """How the process ended, whose connection is closed already."""
        self._process.join(timeout=5)
        code = self._process.exitcode
        if code is None or code >= 0:
            return f"ended with status {code}"
        known = {number.value: number.name for number in signal.Signals}
        return f"was ended by {known.get(-code, f'signal {-code}')}"

    def _receive(self) -> Any:
        failed, result = self._connection.recv()
        if failed:
            raise result
        return result


def _next(connection: Connection, synthesizer: Synthesizer) -> Any:
    """The next job. Whoever waits for it for long gives the memory of the last one back."""
    if not connection.poll(IDLE_SECONDS):
        synthesizer.release_memory()
    return connection.recv()


def _work(connection: Connection, artifact: Path, threads: int | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends its workers
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    server_is_gone = contextlib.suppress(EOFError, OSError)
    try:
        synthesizer = load(artifact, threads=threads)
    except KokoroError as error:
        with server_is_gone:
            connection.send((True, error))
        return
    with synthesizer, server_is_gone:
        connection.send((False, None))
        while (job := _next(connection, synthesizer)) is not None:
            try:
                answer = False, job.run(synthesizer)
            except Exception as error:  # noqa: BLE001 - raised in the server
                connection.send((True, error))
            else:
                connection.send(answer)
