"""Servers started as a user would start them, on a free port, with the stand-in artifact."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")

MODULE = ("-m", "kokoro_pipeline")


@dataclass
class Server:
    """A running server."""

    process: subprocess.Popen[str]
    url: str

    def post(self, path: str, **options: Any) -> Any:
        return httpx.post(self.url + path, timeout=60, **options)

    def get(self, path: str, **options: Any) -> Any:
        return httpx.get(self.url + path, timeout=60, **options)


@pytest.fixture(scope="session")
def start_server() -> Iterator[Callable[..., Server]]:
    running: list[subprocess.Popen[str]] = []

    def start(artifact: Path, *words: str) -> Server:
        process = subprocess.Popen(
            [sys.executable, *MODULE, "serve", "--artifact", artifact, "--port", "0", *words],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        running.append(process)
        assert process.stderr is not None
        line = process.stderr.readline()
        assert " at http://" in line, line + process.stderr.read()
        return Server(process, line.split(" at ")[1].split()[0])

    yield start
    for process in running:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def server(start_server: Callable[..., Server], toy_artifact: Path) -> Server:
    return start_server(toy_artifact)


@pytest.fixture
def run_serve(toy_artifact: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `serve` with arguments that it refuses."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        given = () if "--artifact" in words else ("--artifact", str(toy_artifact))
        return subprocess.run(
            [sys.executable, *MODULE, "serve", *given, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    return run
