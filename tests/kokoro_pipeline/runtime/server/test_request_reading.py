"""A server's event loop serves everybody, so nothing that takes long is read in it."""

from __future__ import annotations

import asyncio
import threading

import pytest

pytest.importorskip("fastapi")

from kokoro_pipeline.artifact.reader import open_artifact
from kokoro_pipeline.runtime.server import context
from kokoro_pipeline.runtime.server.metrics import Metrics
from kokoro_pipeline.runtime.server.schemas import SpeechBody
from kokoro_pipeline.runtime.server.settings import ServerSettings
from kokoro_pipeline.runtime.server.speaking import Speaker
from kokoro_pipeline.runtime.speech import request


def test_documents_and_lexicons_are_read_on_another_thread(toy_artifact, monkeypatch) -> None:
    """A document of 200 kB kept every other client waiting."""
    seen = []

    def recorded(module, name):
        function = getattr(module, name)

        def reading(*arguments):
            seen.append((name, threading.current_thread() is threading.main_thread()))
            return function(*arguments)

        monkeypatch.setattr(module, name, reading)

    recorded(request, "parse_ssml")
    recorded(context, "lexicon_of")
    settings, metrics = ServerSettings(toy_artifact), Metrics()
    server = context.ServerContext(
        settings,
        open_artifact(toy_artifact),
        context.file_state(toy_artifact / "manifest.json"),
        Speaker([], ("af_heart",), settings, metrics),
        metrics,
    )
    body = SpeechBody(input="<speak>Hi.</speak>", ssml=True, lexicon={"Hi": "hˈI"})
    spoken = asyncio.run(server.request_of(body))
    assert spoken.ignored == ()
    assert sorted(seen) == [("lexicon_of", False), ("parse_ssml", False)]
