"""Clients that are slow, many, or gone, and a machine that takes things away under the server."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")

SPEECH = "/v1/audio/speech"
LIMIT = 1
MOST = 3


@pytest.fixture(scope="module")
def impatient(start_server, toy_artifact):
    return start_server(toy_artifact, "--receive-limit", str(LIMIT), "--time-limit", "3")


@pytest.fixture(scope="module")
def two_workers(start_server, toy_artifact):
    return start_server(toy_artifact, "--workers", "2")


@pytest.fixture(scope="module")
def patient(start_server, toy_artifact):
    return start_server(toy_artifact, "--max-requests", str(MOST))


@pytest.fixture
def connect(impatient) -> Iterator[Callable[..., socket.socket]]:
    host, port = impatient.url.removeprefix("http://").split(":")
    opened: list[socket.socket] = []

    def connect(begin: bytes = b"", buffer: int | None = None) -> socket.socket:
        connection = socket.socket()
        if buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.settimeout(30)
        connection.connect((host, int(port)))
        connection.sendall(begin)
        opened.append(connection)
        return connection

    yield connect
    for each in opened:
        each.close()


def received_until_the_end(connection: socket.socket, drip: bytes) -> tuple[bytes, float]:
    """Send `drip` every 50 ms until the server ends the connection: its answer, and the time."""
    started = time.monotonic()
    answer = bytearray()
    connection.settimeout(0.05)
    while time.monotonic() < started + 30:
        try:
            connection.send(drip)
            part = connection.recv(65536)
            if not part:
                break
            answer += part
        except TimeoutError:
            pass
        except OSError:  # the connection was cut
            break
    return bytes(answer), time.monotonic() - started


def head(path: str = SPEECH, length: int = 100_000) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("begin", "drip", "status"),
    [
        (b"", b"", b""),
        (b"GET /health HTTP/1.1\r\nX-A: ", b"a", b""),
        (head(), b" ", b"408"),
        (head("/nowhere"), b" ", b"404"),
        (b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n" + head(length=900), b" ", b"200"),
    ],
    ids=["nothing", "headers", "body", "body that nobody reads", "second request"],
)
def test_who_sends_slowly_is_cut(connect, begin, drip, status):
    answer, took = received_until_the_end(connect(begin), drip)
    assert answer.partition(b" ")[2][:3] == status
    assert LIMIT * 0.9 < took < LIMIT + 12


def test_who_waits_between_two_requests_is_not(impatient):
    connection = http.client.HTTPConnection(impatient.url.removeprefix("http://"))
    connection.connect()
    first = connection.sock
    for _ in range(2):
        connection.request("GET", "/health")
        assert b"healthy" in connection.getresponse().read()
        assert connection.sock is first  # which it opens again where it was closed
        time.sleep(1.5 * LIMIT)
    connection.close()


def metric(server: Any, name: str) -> float:
    rows = server.get("/metrics").text.splitlines()
    return next(float(row.split()[1]) for row in rows if row.startswith(f"{name} "))


def active(server: Any) -> float:
    return metric(server, "kokoro_active_requests")


BOOK = "A sentence of a book, which goes on for quite some time, as books do. " * 2500


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        (SPEECH, {"input": BOOK}),
        ("/v1/audio/timestamps", {"input": BOOK}),
        ("/dev/captioned_speech", {"input": BOOK, "stream": False}),
        ("/v1/phonemize", {"input": BOOK}),
        ("/dev/phonemize", {"text": BOOK}),
    ],
)
def test_nothing_is_done_for_who_left(patient, path, fields):
    """Neither before an answer begins, nor for one that comes as a whole."""
    body = json.dumps(fields).encode()
    host, port = patient.url.removeprefix("http://").split(":")
    left = [socket.create_connection((host, int(port))) for _ in range(MOST)]
    for each in left:
        each.sendall(head(path, len(body)) + body)
    deadline = time.monotonic() + 20
    while active(patient) < MOST and time.monotonic() < deadline:
        time.sleep(0.02)
    assert active(patient) == MOST
    assert patient.post(SPEECH, json={"input": "Hi."}).status_code == 429
    for each in left:
        each.close()
    while active(patient) > 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert active(patient) == 0
    assert metric(patient, "kokoro_waiting_pieces") == 0
    assert patient.post(SPEECH, json={"input": "Hi."}).status_code == 200


@pytest.mark.slow
def test_who_does_not_take_its_audio_is_cut(impatient, connect):
    body = json.dumps({"phonemes": "həlˈoʊ wˈɜːld. " * 9000}).encode()
    path = "/dev/generate_from_phonemes"
    connections = [connect(head(path, len(body)) + body, buffer=4096) for _ in range(2)]
    deadline = time.monotonic() + 30
    while active(impatient) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    while active(impatient) > 0 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert active(impatient) == 0
    del connections


def test_a_thousand_connections_at_once(server):
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= most < 2200:
        pytest.skip(f"this machine gives {most} files to a process")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    host, port = server.url.removeprefix("http://").split(":")
    body = b'{"input": "Hi.", "response_format": "pcm"}'
    everybody = asyncio.Event()
    arrived: list[int] = []

    async def ask() -> str:
        reader, writer = await asyncio.open_connection(host, int(port))
        arrived.append(1)
        if len(arrived) == 1000:
            everybody.set()
        await everybody.wait()
        writer.write(head(length=len(body)) + body)
        line = await reader.readline()
        writer.close()
        return line.split()[1].decode()

    async def ask_all() -> Counter[str]:
        return Counter(await asyncio.wait_for(asyncio.gather(*(ask() for _ in range(1000))), 100))

    try:
        statuses = asyncio.run(ask_all())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, most))
    assert set(statuses) == {"200", "429"} and statuses["200"] >= 64
    assert server.post(SPEECH, json={"input": "Hi."}).status_code == 200


def test_the_artifact_vanishes(start_server, toy_artifact, tmp_path):
    folder = tmp_path / "kokoro"
    shutil.copytree(toy_artifact, folder)
    server = start_server(folder)
    assert server.get("/ready").status_code == 200

    def statuses() -> dict[str, int]:
        answers = {
            "speech": server.post(SPEECH, json={"input": "Hello."}),
            "ready": server.get("/ready"),
            "combine": server.post("/v1/audio/voices/combine", json="af_bella+af_heart"),
        }
        for answer in answers.values():
            error = answer.json()["error"]
            assert error["code"] == "artifact_gone" and str(tmp_path) not in error["message"]
        return {name: answer.status_code for name, answer in answers.items()}

    shutil.rmtree(folder)
    assert set(statuses().values()) == {503}
    shutil.copytree(toy_artifact, folder)  # another one: its voices do not belong to this code
    assert set(statuses().values()) == {503}
    assert server.get("/health").status_code == 200


def test_a_voice_vanishes(start_server, toy_artifact, tmp_path):
    """Which is no mistake of the client, and where the voice was is none of its business."""
    folder = tmp_path / "kokoro"
    shutil.copytree(toy_artifact, folder)
    server = start_server(folder)
    (folder / "voices" / "af_bella.npy").unlink()
    document = "<speak><voice name='af_bella'>Hello.</voice></speak>"
    for path, body in (
        (SPEECH, {"input": "Hello.", "voice": "af_bella"}),
        (SPEECH, {"input": "Hello.", "voice": "af_heart+af_bella"}),
        (SPEECH, {"input": document, "ssml": True}),
        ("/v1/audio/voices/combine", "af_bella+af_heart"),
    ):
        answer = server.post(path, json=body)
        assert answer.status_code == 503
        error = answer.json()["error"]
        assert (error["type"], error["code"]) == ("server_error", "artifact_damaged")
        assert "/" not in error["message"]
    assert server.post(SPEECH, json={"input": "Hi.", "voice": "af_heart"}).status_code == 200
    lines = server.lines(4)
    assert all(f"af_bella is gone from {folder / 'voices'}" in line for line in lines)


def workers_of(pid: int) -> list[int]:
    rows = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(pid)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return [int(row.split()[0]) for row in rows if "spawn_main" in row]


@pytest.mark.slow
def test_a_worker_is_killed_while_it_speaks(start_server, toy_artifact):
    server = start_server(toy_artifact, "--workers", "2")
    body = {"input": "Hello there.", "response_format": "pcm"}
    assert server.post(SPEECH, json=body).status_code == 200  # the reader of the text is loaded
    before = workers_of(server.process.pid)
    assert len(before) == 2
    for pid in before:
        os.kill(pid, signal.SIGSTOP)
    answers: list[Any] = []
    clients = [
        threading.Thread(target=lambda: answers.append(server.post(SPEECH, json=body)))
        for _ in range(2)
    ]
    for client in clients:
        client.start()
    time.sleep(1)  # each worker has a request, and does not get on with it
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    for client in clients:
        client.join()
    assert [answer.status_code for answer in answers] == [503, 503]
    assert all("is replaced" in answer.json()["error"]["message"] for answer in answers)
    for pid in workers_of(server.process.pid):  # idle ones: nobody notices
        os.kill(pid, signal.SIGKILL)
    assert [server.post(SPEECH, json=body).status_code for _ in range(4)] == [200] * 4
    after = workers_of(server.process.pid)
    assert len(after) == 2 and not set(after) & set(before)


@pytest.mark.parametrize(
    ("path", "options", "broken"),
    [
        (SPEECH, {}, True),
        (SPEECH, {"stream_format": "sse"}, False),
        ("/dev/captioned_speech", {}, True),
    ],
    ids=["audio", "events", "captions"],
)
def test_a_worker_that_dies_in_mid_stream_is_one_line_in_the_log(
    two_workers, path, options, broken
):
    """Which names what happened; it was 250 lines of traceback, from which nobody could tell."""
    server = two_workers
    known = len(server.said)
    workers = workers_of(server.process.pid)
    body = {"input": "One more sentence is said here. " * 5000, "response_format": "pcm"}
    ended: list[bytes | None] = []

    def ask() -> None:
        with httpx.stream("POST", server.url + path, json=body | options, timeout=60) as answer:
            begun.set()
            try:
                ended.append(b"".join(answer.iter_bytes()))
            except httpx.RemoteProtocolError:
                ended.append(None)

    begun = threading.Event()
    client = threading.Thread(target=ask)
    client.start()
    begun.wait(30)
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + 30
    while metric(server, "kokoro_busy_workers") < 1 and time.monotonic() < deadline:
        time.sleep(0.02)
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    client.join(30)
    if broken:
        assert ended == [None]
    else:
        assert b'"type": "error"' in ended[0] and b"is replaced" in ended[0]
    assert server.post(SPEECH, json={"input": "Hi."}).status_code == 200
    [line] = server.lines(known + 1)[known:]
    assert "worker process" in line and "was ended by SIGKILL" in line


def test_the_viewer_of_the_api_needs_nothing_from_elsewhere(start_server, toy_artifact):
    server = start_server(toy_artifact, "--api-key", "secret")
    page = server.get("/docs")
    assert page.status_code == 200
    assert "http://" not in page.text and "https://" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for name in ("swagger-ui-bundle.js", "swagger-ui.css"):
        assert f"/docs/viewer/{name}" in page.text
        assert server.get(f"/docs/viewer/{name}").status_code == 200
    for path in ("/docs/viewer/%2e%2e/core.py", "/docs/nothing"):
        assert server.get(path).status_code == 404
    document = server.get("/openapi.json").json()
    assert document["components"]["securitySchemes"] == {
        "HTTPBearer": {"type": "http", "scheme": "bearer"}
    }
    assert document["paths"][SPEECH]["post"]["security"] == [{"HTTPBearer": []}]
    assert server.post(SPEECH, json={"input": "Hi."}).status_code == 401


@pytest.mark.slow
def test_nothing_is_left_of_who_went_away(server, tmp_path: Path):
    """The turns of a hundred clients that go away before their first audio come back."""
    host, port = server.url.removeprefix("http://").split(":")
    body = json.dumps({"input": "One more sentence is said here. " * 100}).encode()
    for _ in range(100):
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(head(length=len(body)) + body)
    deadline = time.monotonic() + 30
    while active(server) > 0 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert active(server) == 0
    assert server.post(SPEECH, json={"input": "Hi."}).status_code == 200


def test_who_leaves_in_its_body_is_no_defect(start_server, toy_artifact):
    """Nor is a request that takes too long: neither fills the log with tracebacks."""
    server = start_server(toy_artifact, "--time-limit", "0.001", "--log-requests")
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head(length=50) + b'{"input"')
    late = server.post(SPEECH, json={"input": "One more sentence is said here. " * 100})
    assert late.status_code == 504
    deadline = time.monotonic() + 10
    while not any("504" in line for line in server.said) and time.monotonic() < deadline:
        time.sleep(0.05)
    said = "".join(server.said)
    assert '"POST /v1/audio/speech HTTP/1.1" 504' in said  # on stderr, with --log-requests
    assert "Traceback" not in said
