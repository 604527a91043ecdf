"""`say` without an artifact: download, build into the cache, speak; later runs only speak."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import wave
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import kokoro_pipeline

pytest.importorskip("huggingface_hub")

UNREACHABLE = "http://127.0.0.1:9"


def say(
    endpoint: str, home: Path, output: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    """The command as a user runs it, with its own caches below `home`."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGINGFACE"))}
    own = {
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(home / "hf"),
        "KOKORO_PIPELINE_CACHE": str(home / "cache"),
        "NO_PROXY": "127.0.0.1,localhost",
    }
    words = ["say", "--phonemes", "həlˈO", "-o", str(output), "--json"]
    return subprocess.run(
        [sys.executable, "-m", "kokoro_pipeline", *words],
        env={**inherited, **own, **variables},
        cwd=Path(kokoro_pipeline.__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def spoken(done: subprocess.CompletedProcess[str], output: Path) -> dict[str, Any]:
    """What `--json` said of a run that ended well and wrote what it says."""
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    with wave.open(str(output)) as file:
        assert file.getnframes() == report["samples"] > 0
    return report


@pytest.mark.slow
def test_downloads_builds_and_speaks_and_the_second_time_only_speaks(
    hub_server: ModuleType, synthetic_folder: Path, tmp_path: Path
) -> None:
    """The stand-in's files play the real ones, so nothing may call the result synthetic."""
    files = {
        str(file.relative_to(synthetic_folder)): file.read_bytes()
        for name in ("config.json", "kokoro-v1_0.pth", "voices/*.pt")
        for file in synthetic_folder.glob(name)
    }
    first, second = tmp_path / "first.wav", tmp_path / "second.wav"
    with hub_server.serving(hub_server.Hub(files)) as hub:
        report = spoken(say(hub.endpoint, tmp_path, first), first)
        assert len(hub.transfers("kokoro-v1_0.pth")) == 1
    assert not report["synthetic"]
    artifact = Path(report["artifact"])
    assert artifact.is_relative_to(tmp_path / "cache")
    manifest = kokoro_pipeline.artifact.reader.read_artifact(artifact).manifest
    assert (manifest.weights.source, manifest.weights.revision) == (
        hub_server.REPOSITORY,
        hub_server.COMMIT,
    )
    assert manifest.validation
    made = artifact.stat().st_mtime_ns, artifact.stat().st_ino
    # The hub is gone: what is cached needs no network.
    again = spoken(say(UNREACHABLE, tmp_path, second), second)
    assert Path(again["artifact"]) == artifact
    assert (artifact.stat().st_mtime_ns, artifact.stat().st_ino) == made
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "evidence"),
    [({}, "does not answer"), ({"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE")],
    ids=["unreachable", "offline"],
)
def test_without_hub_and_cache_it_names_cause_and_way_out(
    variables: dict[str, str], evidence: str, tmp_path: Path
) -> None:
    """It must neither fall back to synthetic weights nor write a file."""
    output = tmp_path / "never.wav"
    done = say(UNREACHABLE, tmp_path, output, **variables)
    assert done.returncode == 3, done.stderr
    assert evidence in done.stderr
    assert "--weights" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not output.exists()
