"""OpenAI's speech API, and what it lacks: voices, times of words, phonemes."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from ..audio import MEDIA_TYPES
from ..speech.request import SpeechRequest
from .audio_answers import NOT_STORED, stream_audio, stream_events, whole_audio
from .bodies import read_body
from .context import client_of, context_of
from .disconnects import while_connected
from .schemas import (
    MODELS,
    Phonemes,
    PhonemizeBody,
    PhonemizedWord,
    SpeechBody,
    Timestamps,
    Word,
    without_date,
)
from .speaking import speak_whole

router = APIRouter(tags=["speech"])

_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": text}
    for status, text in {
        400: "The request cannot be spoken.",
        401: "The API key is missing or wrong.",
        404: "There is no such model.",
        408: "The body did not arrive in time.",
        413: "The body or the text is too long.",
        415: "The body is not JSON.",
        429: "Too many requests wait.",
        503: "The speech cannot be made now.",
        504: "The speech was not made in time.",
    }.items()
}


def json_body(model: Any) -> dict[str, Any]:
    """What the OpenAPI document says of a body that `read_body` reads."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def spoken_headers(body: SpeechBody, spoken: SpeechRequest) -> dict[str, str]:
    """Which voice speaks, and what of the request changes nothing."""
    headers = {"X-Kokoro-Voice": str(spoken.voice)}
    if ignored := [*body.ignored, *spoken.ignored]:
        headers["X-Kokoro-Ignored"] = ", ".join(ignored[:20])
    return headers


_AUDIO: dict[int | str, dict[str, Any]] = {
    200: {"description": "The audio.", "content": {"audio/*": {}, "text/event-stream": {}}}
}


@router.post(
    "/v1/audio/speech",
    responses=_AUDIO | _ERRORS,
    openapi_extra=json_body(SpeechBody),
    response_class=Response,
)
async def create_speech(request: Request) -> Response:
    """Speak a text, and send the audio while it is made."""
    context = context_of(request)
    body = await read_body(request, SpeechBody, context.settings)
    spoken = await context.request_of(body)
    client, name, headers = client_of(request), body.response_format, spoken_headers(body, spoken)
    if not body.stream and body.stream_format == "audio":
        speech = await while_connected(request, speak_whole(context.speaker, spoken, client))
        audio = await asyncio.to_thread(whole_audio, speech, name)
        return Response(audio, media_type=MEDIA_TYPES[name], headers=NOT_STORED | headers)
    pieces = await while_connected(request, context.speaker.begin(spoken, client))
    if body.stream_format == "sse":
        return stream_events(pieces, name, headers, len(body.input))
    return stream_audio(pieces, name, headers)


@router.post(
    "/v1/audio/timestamps",
    responses=_ERRORS,
    openapi_extra=json_body(SpeechBody),
)
async def create_timestamps(request: Request, response: Response) -> Timestamps:
    """Speak a text; the answer has the audio and the times of its words."""
    context = context_of(request)
    body = await read_body(request, SpeechBody, context.settings)
    spoken = await context.request_of(body)
    work = speak_whole(context.speaker, spoken, client_of(request))
    speech = await while_connected(request, work)
    audio = await asyncio.to_thread(whole_audio, speech, body.response_format)
    response.headers.update(spoken_headers(body, spoken))
    return Timestamps(
        audio=base64.b64encode(audio).decode("ascii"),
        format=body.response_format,
        seconds=speech.seconds,
        words=[
            Word(text=w.text, phonemes=w.phonemes, start=w.start, end=w.end, span=w.span)
            for w in speech.words
        ],
        unspoken=list(speech.unspoken),
    )


@router.post("/v1/phonemize", responses=_ERRORS, openapi_extra=json_body(PhonemizeBody))
async def create_phonemes(request: Request) -> Phonemes:
    """The phonemes of a text."""
    context = context_of(request)
    body = await read_body(request, PhonemizeBody, context.settings)
    context.check_text(body.input)
    language = context.language(body.lang, "lang")
    read = await while_connected(request, context.speaker.phonemes(body.input, language))
    return Phonemes(
        phonemes=read.phonemes,
        words=[
            PhonemizedWord(text=w.text, phonemes=w.phonemes, span=(w.start, w.end))
            for w in read.words
        ],
        unspoken=list(read.unspoken),
    )


@router.get("/v1/models")
async def list_models() -> dict[str, Any]:
    """The names that the model answers to."""
    return {"object": "list", "data": [_model(name) for name in MODELS]}


@router.get("/v1/audio/models")
async def list_audio_models() -> dict[str, Any]:
    """The same names, as Open WebUI asks for them."""
    return {"models": [{"id": name} for name in MODELS]}


@router.get("/v1/models/{name:path}", responses={404: _ERRORS[404]})
async def show_model(name: str) -> Response:
    """One model."""
    from fastapi.responses import JSONResponse

    from .problems import Problem

    if without_date(name) not in MODELS:
        raise Problem(404, f"there is no model {name[:80]!r}", code="model_not_found")
    return JSONResponse(_model(name))


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 1737936000, "owned_by": "kokoro"}


@router.get("/v1/audio/voices")
async def list_voices(request: Request, legacy: bool = False) -> dict[str, Any]:
    """The voices of the artifact; `legacy` gives their names alone, as Kokoro-FastAPI once did."""
    from ..text.languages import language_of_voice

    voices = context_of(request).voices
    if legacy:
        return {"voices": voices}
    named = {name: language_of_voice(name) for name in voices}
    return {
        "voices": [
            {"id": name, "name": name, "lang": language.code if language else None}
            for name, language in named.items()
        ]
    }
