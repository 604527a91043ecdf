"""From a request's text to pieces of speech, within the server's limits."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

import anyio

from kokoro_pipeline.errors import InputError

from ..speech.pieces import Piece
from ..speech.progress import Progress
from ..speech.request import SpeechRequest
from ..speech.result import Speech, join_speech
from ..text.phonemize import Phonemized, join_sentences, read_sentences
from ..text.reading import Sentence
from .engines import Engine, Job
from .failures import log
from .metrics import Metrics
from .problems import Problem, in_field
from .settings import ServerSettings
from .turns import Turns
from .voice_names import resolve_voice

T = TypeVar("T")
Pieces = AsyncGenerator[Speech, None]

LONGEST_SILENCE = 600.0
"""Seconds of a single silence: it is made at once, whatever few characters asked for it."""
LONGEST_WHOLE = 3600.0
"""Seconds of audio in an answer that is not streamed, and is held in memory several times."""


class Speaker:
    """Speaks for all clients of a server."""

    def __init__(
        self,
        engines: Sequence[Engine],
        voices: Sequence[str],
        settings: ServerSettings,
        metrics: Metrics,
    ) -> None:
        """`voices` are the names that an SSML document may use."""
        self._voices = voices
        self._engines = engines
        self._turns = Turns(engines)
        self._settings = settings
        self._metrics = metrics
        metrics.watch_waiting(lambda: self._turns.waiting)
        self._active = 0
        self._piece_seconds = 1.0

    async def begin(self, request: SpeechRequest, client: str) -> Pieces:
        """The pieces of a request, of which the first is made already.

        Raises Problem 429 where too many wait, Problem 400 for a text that cannot be spoken, and
        whatever else speaking the first piece raises, so that the answer has a status that says so.
        """
        self._require_room()
        pieces = self._speak(request, client)
        try:
            with in_field("input" if request.phonemes is None else "phonemes"):
                first = await anext(pieces)
        except BaseException:
            await pieces.aclose()
            raise
        return _resumed(first, pieces)

    async def phonemes(self, text: str, lang: str) -> Phonemized:
        """The phonemes of a text, read sentence by sentence, so that others are read in between.

        Raises Problem 429 where too many wait, TimeoutError, and what `phonemize` raises.
        """
        self._require_room()
        found: list[Sentence] = []
        with self._counted(), anyio.fail_after(self._settings.time_limit):
            sentences = read_sentences(text, lang, lexicon=self._settings.lexicon)
            while (sentence := await _read(sentences)) is not None:
                found.append(sentence)
            return await asyncio.to_thread(join_sentences, found)

    def _require_room(self) -> None:
        if self._active >= self._settings.max_requests:
            raise Problem(
                429,
                f"{self._active} requests are being spoken or wait: try again later",
                code="too_many_requests",
                headers={"Retry-After": str(self._wait())},
            )

    def _wait(self) -> int:
        return max(1, math.ceil(self._active * self._piece_seconds / len(self._engines)))

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._active += 1
        self._metrics.active.set(self._active)
        try:
            yield
        finally:
            self._active -= 1
            self._metrics.active.set(self._active)

    async def _speak(self, request: SpeechRequest, client: str) -> Pieces:
        started = time.perf_counter()
        with self._counted():
            texts = request.pieces()
            progress = Progress()
            following = _read(texts)
            try:
                while (piece := await self._within(following)) is not None:
                    following = _read(texts)
                    if piece.silence > LONGEST_SILENCE:
                        raise InputError(
                            f"pauses that follow one another last {piece.silence:g} s, more than "
                            f"{LONGEST_SILENCE:g} s"
                        )
                    # A document names voices, too, and no path of a request is ever opened.
                    voice = piece.voice and resolve_voice(piece.voice, self._voices)
                    whole = replace(progress.with_lost(piece), voice=voice)
                    speech = await self._piece(whole, request, progress.chunks, client)
                    if speech is not None and not progress.chunks:
                        self._metrics.first_audio.observe(time.perf_counter() - started)
                    progress.add(piece, speech)
                    if speech is None:
                        continue
                    self._metrics.audio.inc(speech.seconds)
                    yield speech
            finally:
                following.cancel()
            if rest := progress.end():
                log.warning("left unspoken at the end of a request: %d parts", len(rest))

    async def _within(self, following: asyncio.Task[Piece | None]) -> Piece | None:
        with anyio.fail_after(self._settings.time_limit):
            return await following

    async def _piece(
        self, piece: Piece, request: SpeechRequest, chunks: int, client: str
    ) -> Speech | None:
        job = Job(piece, str(request.voice), request.speed, request.seed, chunks)
        begun = asyncio.Event()
        # A task of its own: a client that goes away gives up its turn, but must not free an engine
        # that still works for it.
        work = asyncio.create_task(self._work(job, client, begun))
        try:
            with anyio.fail_after(self._settings.time_limit):
                return await asyncio.shield(work)
        except BaseException:
            if begun.is_set():
                work.add_done_callback(_ignore)
            else:
                work.cancel()
            raise

    async def _work(self, job: Job, client: str, begun: asyncio.Event) -> Speech | None:
        async with self._turns.turn(client) as engine:
            begun.set()
            started = time.perf_counter()
            with self._metrics.busy.track_inprogress():
                speech = await engine.run(job)
            took = time.perf_counter() - started
        self._piece_seconds += 0.1 * (took - self._piece_seconds)
        self._metrics.synthesis.inc(took)
        return speech

    def close(self) -> None:
        """End the engines."""
        for engine in self._engines:
            engine.close()


def _read(parts: Iterator[T]) -> asyncio.Task[T | None]:
    """Read the next part of a text on another thread."""
    return asyncio.create_task(asyncio.to_thread(next, parts, None))


def _ignore(work: asyncio.Task[Speech | None]) -> None:
    """Nobody waits for it: its error is none that was forgotten."""
    if not work.cancelled():
        work.exception()


async def speak_whole(speaker: Speaker, request: SpeechRequest, client: str) -> Speech:
    """All pieces of a request, joined.

    Raises what `Speaker.begin` raises, and Problem 413 if they are too long for an answer in one
    part.
    """
    pieces = await speaker.begin(request, client)
    found: list[Speech] = []
    seconds = 0.0
    try:
        async for piece in pieces:
            seconds += piece.seconds
            if seconds > LONGEST_WHOLE:
                raise Problem(
                    413,
                    f"the audio is longer than {LONGEST_WHOLE:g} s, which only streams may be",
                    param="input",
                    code="too_large",
                )
            found.append(piece)
    finally:
        await pieces.aclose()
    return await asyncio.to_thread(join_speech, found)


async def _resumed(first: Speech, rest: Pieces) -> Pieces:
    try:
        yield first
        async for piece in rest:
            yield piece
    finally:
        await rest.aclose()
