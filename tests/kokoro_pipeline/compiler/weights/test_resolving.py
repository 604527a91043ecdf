"""From `--weights` to a folder: the meaning of each specification, and the fallbacks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from kokoro_pipeline.compiler.weights import hub, resolve, resolving
from kokoro_pipeline.compiler.weights.constants import stored_constants
from kokoro_pipeline.errors import EnvironmentFault, InputError

COMMIT = "f3ff3571791e39611d31c381e3a41a3af07b4987"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of our own."""
    monkeypatch.setenv("KOKORO_PIPELINE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def stocked(cache: Path, synthetic_folder: Path) -> Path:
    """The cache with seed 0 in it; the path of that entry."""
    entry = cache / "weights" / f"synthetic-0-{stored_constants().digest[:12]}"
    entry.parent.mkdir(parents=True)
    entry.symlink_to(synthetic_folder)
    return entry


def unreachable(progress: bool) -> hub.Snapshot:
    """No hub, no cache."""
    raise EnvironmentFault("no hub today")


def test_synthetic_is_taken_from_the_cache(stocked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there already is not drawn again."""
    monkeypatch.setattr(resolving, "write_synthetic", None)
    folder = resolve("synthetic")
    assert folder.path == stocked
    assert (folder.info.source, folder.info.seed, folder.info.synthetic) == ("synthetic", 0, True)
    assert folder.fallback_reason is None


def test_synthetic_is_written_where_it_is_missing_or_damaged(
    cache: Path, synthetic_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each seed has a place of its own, and a damaged copy is drawn again."""
    written = []

    def write(path: Path, seed: int) -> str:
        written.append((path, seed))
        path.mkdir()
        return "folder"

    monkeypatch.setattr(resolving, "write_synthetic", write)
    assert resolve("synthetic", seed=7) == "folder"
    assert (
        resolve("synthetic", seed=7) == "folder"
    )  # the empty folder there is not a weights folder
    assert resolve("synthetic", seed=8) == "folder"
    assert [seed for _, seed in written] == [7, 7, 8]
    assert written[0][0] == written[1][0] != written[2][0]
    assert all(path.is_relative_to(cache) for path, _ in written)


def test_the_hubs_weights_carry_name_and_commit(
    synthetic_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`auto` and the repository's name both give the hub's weights where it answers."""
    snapshot = tmp_path / COMMIT
    snapshot.mkdir()
    for name in ("config.json", "kokoro-v1_0.pth", "voices"):
        (snapshot / name).symlink_to(synthetic_folder / name)
    monkeypatch.setattr(hub, "fetch", lambda progress: hub.Snapshot(snapshot, COMMIT))
    for spec in ("auto", "hexgrad/Kokoro-82M"):
        folder = resolve(spec)
        assert (folder.info.source, folder.info.revision) == ("hexgrad/Kokoro-82M", COMMIT)
        assert not folder.info.synthetic
        assert folder.fallback_reason is None


def test_auto_falls_back_and_says_why(stocked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in is marked as such, with the hub's trouble as the reason."""
    monkeypatch.setattr(hub, "fetch", unreachable)
    folder = resolve("auto")
    assert folder.info.synthetic
    assert folder.fallback_reason == "no hub today"


def test_insisting_on_the_hub_never_falls_back(
    stocked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error reaches the caller, and its exit code is 3."""
    monkeypatch.setattr(hub, "fetch", unreachable)
    with pytest.raises(EnvironmentFault, match="no hub today") as caught:
        resolve("hexgrad/Kokoro-82M")
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("as_path", [True, False])
def test_a_local_folder_is_opened(synthetic_folder: Path, as_path: bool) -> None:
    """A written stand-in keeps its mark when it is named as a folder."""
    folder = resolve(synthetic_folder if as_path else str(synthetic_folder))
    assert folder.path == synthetic_folder
    assert folder.info.synthetic


@pytest.mark.parametrize("spec", ["", "somebody/else", "./nowhere", "Synthetic"])
def test_anything_else_is_refused_with_the_choices(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A typo does not lead to a download or synthetic weights."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"auto, hexgrad/Kokoro-82M, synthetic|lacks config"):
        resolve(spec)


def test_without_a_network_auto_is_quick(stocked: Path, tmp_path: Path) -> None:
    """The real client, no hub: the stand-in without a long wait, torch's import included."""
    pytest.importorskip("huggingface_hub")
    program = (
        "from kokoro_pipeline.compiler.weights import resolve\n"
        "folder = resolve('auto')\n"
        "print(folder.info.synthetic, '127.0.0.1:9' in folder.fallback_reason)\n"
    )
    own = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path / "hf"), "NO_PROXY": "*"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split() == ["True", "True"], done.stderr
