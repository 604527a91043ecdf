"""What the routes of one server share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from fastapi import Request

from kokoro_pipeline.artifact.reader import Artifact
from kokoro_pipeline.config import load_config

from ..speech.pieces import Splitting
from ..speech.request import SpeechRequest
from ..text.languages import find_language
from ..text.lexicon import Lexicon, lexicon_of
from ..text.vocabulary import Vocabulary
from .metrics import Metrics
from .problems import Problem, in_field
from .schemas import MODELS, SpeechBody
from .settings import ServerSettings
from .speaking import Speaker
from .voice_names import resolve_voice

FileState = tuple[int, int] | None
"""Number of the file and time of its last change; None is no file."""


def file_state(path: Path) -> FileState:
    """The state of a file now."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


@dataclass(frozen=True)
class ServerContext:
    """A server's parts."""

    settings: ServerSettings
    artifact: Artifact
    loaded: FileState
    """The manifest when the artifact was loaded."""
    speaker: Speaker
    metrics: Metrics

    @property
    def voices(self) -> tuple[str, ...]:
        """Names of the voices of the artifact."""
        return self.artifact.manifest.voices

    @property
    def vocabulary(self) -> Vocabulary:
        """The phonemes that the model knows."""
        return Vocabulary(load_config(self.artifact.config).vocab)

    async def request_of(self, body: SpeechBody) -> SpeechRequest:
        """The checked request of a body, whose document and lexicon another thread has read.

        Raises Problem or InputError.
        """
        if body.model not in MODELS:
            raise Problem(
                404,
                f"there is no model {body.model[:80]!r}; known are {', '.join(MODELS)}",
                param="model",
                code="model_not_found",
            )
        self.check_text(body.input)
        return await asyncio.to_thread(self._request, body)

    def _request(self, body: SpeechBody) -> SpeechRequest:
        lang, lexicon = None, self.settings.lexicon
        if body.lang is not None:
            lang = self.language(body.lang, "lang")
        elif body.lang_code is not None:
            lang = self.language(body.lang_code, "lang_code")
        if body.lexicon:
            with in_field("lexicon"):
                own = lexicon_of(body.lexicon, self.vocabulary)
            lexicon = Lexicon((*(lexicon.entries if lexicon else ()), *own.entries))
        with in_field("input"):
            request = SpeechRequest(
                text=body.input,
                voice=self.voice(body.voice_name),
                lang=lang,
                speed=body.speed,
                seed=body.seed,
                splitting=Splitting(first="clause"),
                lexicon=lexicon,
                ssml=body.ssml,
            )
            if request.ssml:
                request.document  # noqa: B018 - parsed once, and here
        return request

    def voice(self, name: str) -> str:
        """A voice or blend of the artifact. Raises Problem."""
        self.check_artifact()
        with in_field("voice", "unknown_voice"):
            return resolve_voice(name, self.voices)

    def language(self, name: str, field: str) -> str:
        """The code of a language that this field of the request names. Raises Problem."""
        with in_field(field):
            return find_language(name).code

    def check_artifact(self) -> None:
        """Raises Problem 503 if the artifact is gone or another has taken its place.

        Its code and parameters are still mapped, but voices are read when they are asked for.
        """
        if file_state(self.artifact.path / "manifest.json") != self.loaded:
            raise Problem(
                503,
                "the artifact is gone or was replaced: the server has to be started again",
                code="artifact_gone",
            )

    def check_text(self, text: str, field: str = "input") -> None:
        """Raises Problem for a text that is empty or too long, in this field of the request."""
        if not text.strip():
            raise Problem(400, f"{field} is empty: there is nothing to say", param=field)
        if len(text) > self.settings.max_text:
            raise Problem(
                413,
                f"{field} has {len(text)} characters, over the limit of {self.settings.max_text}",
                param=field,
                code="too_large",
            )


def context_of(request: Request) -> ServerContext:
    """The context of the server that a request came to."""
    context: ServerContext = request.app.state.context
    return context


def client_of(request: Request) -> str:
    """Who takes turns with others: the client's address."""
    return request.client.host if request.client else "local"
