"""Bodies of requests and answers."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

ResponseFormat = Literal["mp3", "opus", "aac", "flac", "wav", "pcm"]
Speed = Annotated[float, Field(ge=0.1, le=10, allow_inf_nan=False)]
Seed = Annotated[int, Field(ge=0, le=2**63)]

MODELS = ("kokoro", "tts-1", "tts-1-hd", "gpt-4o-mini-tts", "hexgrad/Kokoro-82M")
"""Names of models that are answered with Kokoro."""

_DATED = re.compile(rf"({'|'.join(map(re.escape, MODELS))})-\d{{4}}(-\d{{2}}-\d{{2}})?", re.ASCII)
_FIELD_NAME = re.compile(r"[\w.-]{1,40}", re.ASCII)


def without_date(model: str) -> str:
    """The name of a known model without the date of its release, which OpenAI puts behind it.

    It is a whole date, as in "gpt-4o-mini-tts-2025-12-15", or month and day, as in "tts-1-1106".
    """
    dated = _DATED.fullmatch(model)
    return dated[1] if dated else model


Model = Annotated[str, AfterValidator(without_date)]
"""A name of a model; that it is known is checked with the request."""


class Body(BaseModel):
    """The body of a request, in which a field that is null counts as one that is not given.

    Clients in typed languages write out what nobody has set.
    """

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            raise PydanticCustomError("object_type", "the body is no JSON object")
        return {name: value for name, value in values.items() if value is not None}


class VoiceId(BaseModel):
    """OpenAI's other form of a voice."""

    id: str


class SpeechBody(Body):
    """`POST /v1/audio/speech`."""

    model_config = ConfigDict(extra="allow")

    input: str = Field(description="The text.")
    model: Model = "kokoro"
    voice: str | VoiceId = Field(
        "af_heart", description="A name, a blend such as af_bella(2)+af_sky(1), or OpenAI's name."
    )
    response_format: ResponseFormat = "mp3"
    speed: Speed = 1.0
    stream: bool = Field(True, description="Whether audio is sent while it is made.")
    stream_format: Literal["audio", "sse"] = "audio"
    instructions: str | None = Field(None, description="Ignored, and a header says so.")
    lang: str | None = Field(None, description="Language of the text; by default the voice's.")
    lang_code: str | None = Field(None, description="The same, as Kokoro-FastAPI names it.")
    seed: Seed = 0
    ssml: bool = Field(False, description="Whether the input is an SSML document.")
    lexicon: dict[str, str] | None = Field(None, description="Words and their phonemes.")

    @property
    def voice_name(self) -> str:
        """The voice in either form."""
        return self.voice if isinstance(self.voice, str) else self.voice.id

    @property
    def ignored(self) -> list[str]:
        """Fields that were given and change nothing, of those whose names a header can hold."""
        unknown = [name for name in self.model_extra or () if _FIELD_NAME.fullmatch(name)]
        return ["instructions"] * bool(self.instructions) + unknown


class CaptionedBody(SpeechBody):
    """`POST /dev/captioned_speech`."""

    return_timestamps: bool = True


class PhonemizeBody(Body):
    """`POST /v1/phonemize`."""

    input: str
    lang: str = "en-us"


class DevPhonemizeBody(Body):
    """`POST /dev/phonemize`."""

    text: str
    language: str = "a"


class DevPhonemesBody(Body):
    """`POST /dev/generate_from_phonemes`."""

    phonemes: str
    voice: str = "af_heart"
    speed: Speed = 1.0


class Word(BaseModel):
    """A word with its times in seconds and where it is written."""

    text: str
    phonemes: str
    start: float
    end: float
    span: tuple[int, int]


class Timestamps(BaseModel):
    """The answer of `POST /v1/audio/timestamps`."""

    audio: str = Field(description="The audio in base 64.")
    format: ResponseFormat
    seconds: float
    words: list[Word]
    unspoken: list[str]


class WordTimestamp(BaseModel):
    """A word's times in Kokoro-FastAPI's form."""

    word: str
    start_time: float
    end_time: float


class Captioned(BaseModel):
    """A line of the answer of `POST /dev/captioned_speech`."""

    audio: str
    audio_format: str
    timestamps: list[WordTimestamp] | None


class Phonemes(BaseModel):
    """The answer of `POST /v1/phonemize`."""

    phonemes: str
    words: list[PhonemizedWord]
    unspoken: list[str]


class PhonemizedWord(BaseModel):
    """A word as it is written, with its phonemes."""

    text: str
    phonemes: str
    span: tuple[int, int]


class DevPhonemes(BaseModel):
    """The answer of `POST /dev/phonemize`."""

    phonemes: str
    tokens: list[int]
