"""Downloading the real weights with the hub's client from a loopback server, working or failing.

Each download runs in a fresh process, because the client reads its variables when it is imported.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("huggingface_hub")

from kokoro_pipeline.compiler.weights import hub as hub_module

FILES = {
    "README.md": b"not needed" * 1000,
    "config.json": b'{"vocab": {}}',
    "kokoro-v1_0.pth": bytes(range(256)) * 49_152,  # more than the client keeps at a time
    "voices/af_heart.pt": b"heart" * 1000,
    "voices/af_bella.pt": b"bella" * 1000,
}
NEEDED = sorted(set(FILES) - {"README.md"})
BREAK = 11_500_000
UNREACHABLE = "http://127.0.0.1:9"

PROGRAM = """
import json, sys
from kokoro_pipeline.errors import EnvironmentFault
from kokoro_pipeline.compiler.weights import hub
try:
    snapshot = hub.fetch(progress=sys.argv[1] == "bars")
except EnvironmentFault as fault:
    print(json.dumps({"fault": str(fault), "code": fault.exit_code}))
else:
    names = [p.relative_to(snapshot.path) for p in snapshot.path.rglob("*") if p.is_file()]
    files = sorted(map(str, names))
    print(json.dumps({"path": str(snapshot.path), "revision": snapshot.revision, "files": files}))
"""


@dataclass
class Outcome:
    """The outcome of a download process."""

    answer: dict[str, Any]
    stderr: str

    @property
    def fault(self) -> str:
        """The message of the EnvironmentFault that it ended in."""
        assert self.answer.get("code") == 3, self.answer
        return str(self.answer["fault"])


@dataclass
class Client:
    """A machine's user of the hub: its home folder, and the client's variables."""

    home: Path

    def fetch(self, endpoint: str, bars: bool = False, **variables: str) -> Outcome:
        """Run `hub.fetch` in a process of its own."""
        inherited = {
            k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGINGFACE"))
        }
        own = {
            "HF_ENDPOINT": endpoint,
            "HF_HOME": str(self.home),
            "NO_PROXY": "127.0.0.1,localhost",
        }
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, "bars" if bars else "silent"],
            env={**inherited, **own, **variables},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return Outcome(json.loads(done.stdout), done.stderr)


@pytest.fixture
def client(tmp_path: Path) -> Client:
    """A user who has downloaded nothing yet."""
    return Client(tmp_path / "hf")


@pytest.fixture
def hub(hub_server: ModuleType) -> Iterator[Any]:
    """A healthy hub."""
    serving: AbstractContextManager[Any] = hub_server.serving(hub_server.Hub(dict(FILES)))
    with serving as running:
        yield running


def assert_complete(outcome: Outcome, commit: str) -> None:
    """Every file arrived whole, from the commit that the hub named."""
    assert outcome.answer.get("files") == NEEDED, outcome.answer
    assert outcome.answer["revision"] == commit
    for name in NEEDED:
        assert (Path(outcome.answer["path"]) / name).read_bytes() == FILES[name]


def test_the_weights_arrive_and_their_commit_is_recorded(
    client: Client, hub: Any, hub_server: ModuleType
) -> None:
    """Only the files of the layout; the second time nothing is transferred again."""
    assert_complete(client.fetch(hub.endpoint), hub_server.COMMIT)
    assert not hub.transfers("README.md")
    before = len(hub.transfers("kokoro-v1_0.pth"))
    again = client.fetch(hub.endpoint)
    assert_complete(again, hub_server.COMMIT)
    assert len(hub.transfers("kokoro-v1_0.pth")) == before == 1
    assert again.answer["path"].startswith(str(client.home))


@pytest.mark.parametrize("bars", [True, False])
def test_the_clients_bars_show_unless_silenced(client: Client, hub: Any, bars: bool) -> None:
    """On a terminal (this variable makes the client believe so) the download shows its progress."""
    outcome = client.fetch(hub.endpoint, bars=bars, TQDM_POSITION="-1")
    assert ("%|" in outcome.stderr) == bars, outcome.stderr


def test_without_the_hub_the_cache_serves(client: Client, hub_server: ModuleType, hub: Any) -> None:
    """Unreachable or told to stay offline: the copy of the last download, with its commit."""
    assert_complete(client.fetch(hub.endpoint), hub_server.COMMIT)
    asked = len(hub.requests)
    assert_complete(client.fetch(hub.endpoint, HF_HUB_OFFLINE="1"), hub_server.COMMIT)
    assert len(hub.requests) == asked
    assert_complete(client.fetch(UNREACHABLE), hub_server.COMMIT)


def test_offline_without_a_copy_says_so(client: Client, hub: Any) -> None:
    """The cause is the user's own variable, and the message names it."""
    fault = client.fetch(hub.endpoint, HF_HUB_OFFLINE="1").fault
    assert "HF_HUB_OFFLINE is set" in fault
    assert "no complete copy" in fault
    assert "--weights synthetic" in fault
    assert not hub.requests


def test_no_network_is_a_quick_error(client: Client) -> None:
    """A machine that reaches no hub learns it soon (a minute would be an error here), with the
    cause and the ways out."""
    outcome = client.fetch(UNREACHABLE)
    assert UNREACHABLE in outcome.fault
    assert "HF_ENDPOINT" in outcome.fault
    assert str(client.home) in outcome.fault


@pytest.mark.slow
def test_a_silent_hub_is_a_quick_error(client: Client) -> None:
    """A firewall that drops everything does not make the build hang."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        outcome = client.fetch(f"http://127.0.0.1:{silent.getsockname()[1]}")
    assert "does not answer" in outcome.fault


def test_a_request_that_never_returns_is_abandoned() -> None:
    """Whatever blocks inside the client, a name server for one, the probe has an end."""
    answered = threading.Event()
    with pytest.raises(TimeoutError, match="no answer within 0 s"):
        hub_module._within(0.2, answered.wait)
    answered.set()
    assert hub_module._within(5, lambda: 7) == 7
    with pytest.raises(LookupError, match="mine"):
        hub_module._within(5, lambda: {}["mine"])


@pytest.mark.parametrize(
    ("behaviour", "named"),
    [
        ({"status": 503}, "503"),
        ({"status": 403}, "403"),
        ({"page": True}, "does not answer"),
        ({"missing": {"kokoro-v1_0.pth"}}, "404"),
        ({"files": {"config.json": b"{}", "voices/a.pt": b"a"}}, "has no kokoro-v1_0.pth"),
        ({"claimed": {"kokoro-v1_0.pth": 13_000_000}}, "size"),
    ],
    ids=["busy", "forbidden", "login page", "404 of a file", "another repository", "wrong size"],
)
def test_a_broken_hub_is_named(
    client: Client, hub: Any, behaviour: dict[str, Any], named: str
) -> None:
    """Each way of failing ends in exit code 3 with the cause, never in bad weights."""
    for name, value in behaviour.items():
        setattr(hub, name, value)
    fault = client.fetch(hub.endpoint).fault
    assert named in fault
    assert "Ways out" in fault


def test_an_unknown_repository_is_named(client: Client, hub: Any) -> None:
    """A mirror that lacks the repository answers 404 to everything."""
    fault = client.fetch(hub.endpoint + "/elsewhere").fault
    assert "404" in fault


def test_an_interrupted_transfer_resumes(client: Client, hub: Any, hub_server: ModuleType) -> None:
    """The connection breaks off once in the middle: the rest is fetched, not the whole again.

    Newer clients go on by themselves; with older ones the error says to run again.
    """
    hub.cuts["kokoro-v1_0.pth"] = [BREAK]
    outcome = client.fetch(hub.endpoint)
    if "fault" in outcome.answer:
        assert "Run again" in outcome.fault
        outcome = client.fetch(hub.endpoint)
    assert_complete(outcome, hub_server.COMMIT)
    first, second = hub.transfers("kokoro-v1_0.pth")
    assert first is None
    assert second is not None
    assert second.startswith("bytes=")


@pytest.mark.slow
def test_a_transfer_that_never_ends_well_is_an_error_and_the_next_run_completes(
    client: Client, hub: Any, hub_server: ModuleType
) -> None:
    """The client gives up; the message says to run again; running again gives whole files."""
    hub.cuts["kokoro-v1_0.pth"] = [BREAK] + [0] * 20
    fault = client.fetch(hub.endpoint).fault
    assert "downloading hexgrad/Kokoro-82M" in fault
    assert "Run again" in fault
    offline = client.fetch(UNREACHABLE).fault
    assert "no complete copy" in offline
    hub.cuts.clear()
    assert_complete(client.fetch(hub.endpoint), hub_server.COMMIT)
