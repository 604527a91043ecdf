"""What Kokoro-FastAPI (0.6 and newer) has beyond OpenAI's API, in its forms."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import TypeAdapter, ValidationError

from ..audio import MEDIA_TYPES
from ..speech.request import SpeechRequest
from ..voices import load_voice
from ..voices.tensor_file import encode_tensor
from .audio_answers import stream_audio, stream_captions, whole_audio
from .bodies import read_body, read_json
from .context import client_of, context_of
from .disconnects import while_connected
from .problems import Problem
from .routes_openai import json_body, spoken_headers
from .schemas import (
    Captioned,
    CaptionedBody,
    DevPhonemes,
    DevPhonemesBody,
    DevPhonemizeBody,
    WordTimestamp,
)
from .speaking import speak_whole

router = APIRouter(tags=["Kokoro-FastAPI"])


@router.post(
    "/dev/captioned_speech", openapi_extra=json_body(CaptionedBody), response_class=Response
)
async def captioned_speech(request: Request) -> Response:
    """Speak a text; each line of the answer is JSON with audio and the times of its words."""
    context = context_of(request)
    body = await read_body(request, CaptionedBody, context.settings)
    spoken = await context.request_of(body)
    client, name, headers = client_of(request), body.response_format, spoken_headers(body, spoken)
    if body.stream:
        pieces = await while_connected(request, context.speaker.begin(spoken, client))
        return stream_captions(pieces, name, headers, timestamps=body.return_timestamps)
    speech = await while_connected(request, speak_whole(context.speaker, spoken, client))
    audio = await asyncio.to_thread(whole_audio, speech, name)
    words = [
        WordTimestamp(word=w.text, start_time=round(w.start, 4), end_time=round(w.end, 4))
        for w in speech.words
    ]
    answer = Captioned(
        audio=base64.b64encode(audio).decode("ascii"),
        audio_format=MEDIA_TYPES[name],
        timestamps=words if body.return_timestamps else None,
    )
    return JSONResponse(answer.model_dump(), headers=headers)


@router.post("/dev/phonemize", openapi_extra=json_body(DevPhonemizeBody))
async def dev_phonemize(request: Request) -> DevPhonemes:
    """The phonemes of a text and their token ids."""
    context = context_of(request)
    body = await read_body(request, DevPhonemizeBody, context.settings)
    context.check_text(body.text, "text")
    language = context.language(body.language, "language")
    read = await while_connected(request, context.speaker.phonemes(body.text, language))
    return DevPhonemes(
        phonemes=read.phonemes, tokens=list(context.vocabulary.encode(read.phonemes).ids)
    )


@router.post(
    "/dev/generate_from_phonemes",
    openapi_extra=json_body(DevPhonemesBody),
    response_class=Response,
)
async def generate_from_phonemes(request: Request) -> Response:
    """Speak phonemes, as WAV."""
    context = context_of(request)
    body = await read_body(request, DevPhonemesBody, context.settings)
    context.check_text(body.phonemes, "phonemes")
    spoken = SpeechRequest(
        phonemes=body.phonemes, voice=context.voice(body.voice), speed=body.speed
    )
    pieces = await while_connected(request, context.speaker.begin(spoken, client_of(request)))
    return stream_audio(pieces, "wav", {})


@router.post("/v1/audio/voices/combine", response_class=Response)
async def combine_voices(request: Request) -> Response:
    """A blend of voices as a .pt file, from "af_bella(2)+af_sky(1)" or a list of names."""
    context = context_of(request)
    content: Any = await read_json(request, context.settings)
    if isinstance(content, dict):
        content = content.get("voices")
    try:
        names = TypeAdapter(str | list[str]).validate_python(content)
    except ValidationError as error:
        raise Problem(
            400, "expected the voices as a string or a list of names", param="voices"
        ) from error
    voice = context.voice(names if isinstance(names, str) else "+".join(names))
    pack = await asyncio.to_thread(load_voice, voice, context.artifact.voices, context.voices)
    name = voice.replace(":", "").replace(",", "-")[:100]
    return Response(
        encode_tensor(pack),
        media_type="application/octet-stream",
        headers={"Content-Disposition": f"attachment; filename={name}.pt"},
    )
