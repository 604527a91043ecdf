"""What the application does when it starts."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
from starlette.testclient import TestClient

from kokoro_pipeline.errors import EnvironmentFault
from kokoro_pipeline.runtime.server import app
from kokoro_pipeline.runtime.server.settings import ServerSettings


@pytest.mark.parametrize("installed", [True, False])
def test_english_is_loaded_before_the_first_request(
    installed: bool, toy_artifact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without what it needs the server starts as well: phonemes need no reader."""
    loaded, failures = threading.Event(), list[object]()

    class English:
        def reader(self) -> None:
            loaded.set()
            if not installed:
                raise EnvironmentFault("no package for text")

    monkeypatch.setattr(app, "find_language", {"en-us": English()}.__getitem__)
    monkeypatch.setattr(threading, "excepthook", failures.append)
    with TestClient(app.make_app(ServerSettings(toy_artifact), [])) as client:
        assert loaded.wait(30)
        assert client.get("/health").status_code == 200
    assert not failures
