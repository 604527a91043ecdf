"""Pieces of speech as the bodies of answers."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Any

from fastapi.responses import Response, StreamingResponse

from ..audio import MEDIA_TYPES, make_encoder
from ..audio.encoding import Encoder
from ..speech.result import Speech
from .failures import BrokenAnswer, log_failure
from .problems import problem_of
from .schemas import Captioned, WordTimestamp
from .speaking import Pieces

NOT_STORED = {"Cache-Control": "no-store"}
"""No cache keeps speech."""
STREAM_HEADERS = NOT_STORED | {"X-Accel-Buffering": "no"}
"""Nor does a proxy hold it back."""

_EVENT_AUDIO = 24_576
"""Bytes of audio in an event, so that its line is half of the 64 KiB that asyncio reads of one."""

_LATE = "speaking failed after the first piece"


class _Encoded:
    """Encoded bytes of pieces, with the times of words moved to the whole."""

    def __init__(self, name: str, sample_rate: int) -> None:
        self._encoder: Encoder = make_encoder(name, sample_rate)
        self.seconds = 0.0

    def piece(self, speech: Speech) -> tuple[bytes, list[WordTimestamp]]:
        content = self._encoder.encode(speech.audio)
        words = [
            WordTimestamp(
                word=word.text,
                start_time=round(self.seconds + word.start, 4),
                end_time=round(self.seconds + word.end, 4),
            )
            for word in speech.words
        ]
        self.seconds += speech.seconds
        return content, words

    def end(self) -> bytes:
        return self._encoder.finish().content


def stream_audio(pieces: Pieces, name: str, headers: dict[str, str]) -> Response:
    """The audio in one of the formats, chunk by chunk."""

    async def content() -> AsyncIterator[bytes]:
        encoded = _Encoded(name, 24_000)
        async for speech in _logged(pieces):
            yield encoded.piece(speech)[0]
        yield encoded.end()

    return StreamingResponse(
        _nonempty(content()), media_type=MEDIA_TYPES[name], headers=STREAM_HEADERS | headers
    )


def stream_events(pieces: Pieces, name: str, headers: dict[str, str], characters: int) -> Response:
    """OpenAI's server-sent events: `speech.audio.delta` with audio in base 64, and a last one."""

    async def content() -> AsyncIterator[bytes]:
        encoded = _Encoded(name, 24_000)
        try:
            async for speech in pieces:
                for part in _parts(encoded.piece(speech)[0]):
                    yield _event("speech.audio.delta", audio=_base64(part))
            for part in _parts(encoded.end()):
                yield _event("speech.audio.delta", audio=_base64(part))
            usage = {
                "input_tokens": characters,
                "output_tokens": round(encoded.seconds * 40),
                "total_tokens": characters + round(encoded.seconds * 40),
            }
            yield _event("speech.audio.done", usage=usage)
        except Exception as error:  # noqa: BLE001 - logged, and told to the client
            log_failure(_LATE, error)
            yield _event("error", **problem_of(error).body())

    return StreamingResponse(
        content(), media_type="text/event-stream", headers=STREAM_HEADERS | headers
    )


def stream_captions(
    pieces: Pieces, name: str, headers: dict[str, str], *, timestamps: bool
) -> Response:
    """Kokoro-FastAPI's lines of JSON, each with audio and the times of its words."""

    async def content() -> AsyncIterator[bytes]:
        encoded = _Encoded(name, 24_000)
        pending: list[WordTimestamp] = []
        async for speech in _logged(pieces):
            audio, words = encoded.piece(speech)
            pending += words
            if audio:
                yield _line(audio, name, pending if timestamps else None)
                pending = []
        if audio := encoded.end():
            yield _line(audio, name, pending if timestamps else None)

    return StreamingResponse(
        content(), media_type="application/json", headers=STREAM_HEADERS | headers
    )


def _line(audio: bytes, name: str, words: list[WordTimestamp] | None) -> bytes:
    answer = Captioned(audio=_base64(audio), audio_format=MEDIA_TYPES[name], timestamps=words)
    return answer.model_dump_json().encode() + b"\n"


def _parts(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), _EVENT_AUDIO):
        yield content[start : start + _EVENT_AUDIO]


def _event(kind: str, **values: Any) -> bytes:
    return f"data: {json.dumps({'type': kind, **values})}\n\n".encode()


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


async def _nonempty(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for part in parts:
        if part:
            yield part


async def _logged(pieces: Pieces) -> AsyncGenerator[Speech, None]:
    """The pieces; an error breaks the connection, since the status is sent already."""
    try:
        async for piece in pieces:
            yield piece
    except Exception as error:
        log_failure(_LATE, error)
        raise BrokenAnswer from error
    finally:
        await pieces.aclose()


def whole_audio(speech: Speech, name: str) -> bytes:
    """A complete file, with its length in the header."""
    encoder = make_encoder(name, speech.sample_rate)
    content = bytearray(encoder.encode(speech.audio))
    ending = encoder.finish()
    content += ending.content
    for patch in ending.patches:
        content[patch.position : patch.position + len(patch.content)] = patch.content
    return bytes(content)
