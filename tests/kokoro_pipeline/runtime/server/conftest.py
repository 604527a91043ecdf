"""Servers started as a user would start them, on a free port, with the stand-in artifact."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")

MODULE = ("-m", "kokoro_pipeline")
DEPLOY = Path(__file__).resolve().parents[4] / "examples" / "deploy"
RAY = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ADDRESS": "local"}


@dataclass
class Server:
    """A running server; `said` are the lines that it has written to stderr since it started.

    They are read as they come: a server whose pipe is full waits for its reader.
    """

    process: subprocess.Popen[str]
    url: str
    said: list[str] = field(default_factory=list)
    _reader: threading.Thread = field(init=False, repr=False)

    def __post_init__(self) -> None:
        assert self.process.stderr is not None
        self._reader = threading.Thread(
            target=self.said.extend, args=(self.process.stderr,), daemon=True
        )
        self._reader.start()

    def lines(self, count: int) -> list[str]:
        """What it has said, once these are `count` lines or ten seconds have passed."""
        deadline = time.monotonic() + 10
        while len(self.said) < count and time.monotonic() < deadline:
            time.sleep(0.02)
        return list(self.said)

    def last_words(self) -> list[str]:
        """All that it has said, once it has ended and its workers, which say things too."""
        self._reader.join(10)
        assert not self._reader.is_alive(), "a worker is still there"
        return self.said

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


@pytest.fixture(scope="module")
def ray_server(toy_artifact: Path) -> Iterator[Server]:
    """`examples/deploy/ray_serve.py` as its page says, on a Ray of its own.

    Not for the session: a Ray that nobody asks anything takes a seventh of a core.
    """
    pytest.importorskip("ray")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **RAY}
    program = (
        "import sys; from ray import serve; serve.start(http_options={'port': int(sys.argv[1])}); "
        "from ray.serve.scripts import cli; cli(['run', *sys.argv[2:]])"
    )
    words = ["--app-dir", str(DEPLOY), "ray_serve:app", f"artifact={toy_artifact}"]
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(port), *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if "ready at http" in line:
            break
    else:
        pytest.fail("".join(said))
    yield Server(process, f"http://127.0.0.1:{port}")
    process.send_signal(signal.SIGINT)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="session")
def own_server(start_server: Callable[..., Server], toy_artifact: Path) -> Server:
    return start_server(toy_artifact)


@pytest.fixture(scope="session")
def server(own_server: Server) -> Server:
    return own_server


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
