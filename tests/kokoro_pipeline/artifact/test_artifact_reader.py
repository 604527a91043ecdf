"""Opening: damage, other versions and other machines are rejected before loading anything."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kokoro_pipeline.artifact import cpu, reader
from kokoro_pipeline.artifact.manifest import Manifest, TargetInfo
from kokoro_pipeline.artifact.reader import open_artifact, read_artifact, verify_artifact
from kokoro_pipeline.errors import ArtifactError, EnvironmentFault

Make = Callable[..., Path]


def failures(path: Path) -> dict[str, str]:
    return {result.name: result.detail for result in verify_artifact(path) if not result.passed}


def flip_bit(file: Path, position: int) -> None:
    content = bytearray(file.read_bytes())
    content[position] ^= 0x10
    file.write_bytes(content)


def test_open_and_verify_a_sound_artifact(tmp_path: Path, make_artifact: Make) -> None:
    path = make_artifact(tmp_path / "a")
    artifact = open_artifact(path)
    assert artifact.path == path
    assert artifact.library.is_file()
    assert artifact.config.read_text() == "{}"
    assert artifact.manifest.voices == ("af_heart",)
    assert artifact.manifest.weights.synthetic
    weight, bias = artifact.parameters("double")
    assert (weight.shape, bias.shape) == ((5, 7), (3,))
    with pytest.raises(ArtifactError, match="has no function other; it has double"):
        artifact.parameters("other")
    results = verify_artifact(path)
    assert all(result.passed for result in results)
    assert {"manifest.json", "model.so", "params.bin", "voices/af_heart.npy", "CPU", "TVM"} <= {
        result.name for result in results
    }


def test_relocatable(tmp_path: Path, make_artifact: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_artifact(tmp_path / "a")
    moved = tmp_path / "elsewhere" / "b"
    moved.parent.mkdir()
    path.rename(moved)
    link = tmp_path / "link"
    link.symlink_to(moved)
    monkeypatch.chdir(moved.parent)
    for place in (moved, link, Path("b"), Path("./b/../b")):
        np.testing.assert_array_equal(open_artifact(place).parameters("double")[0].shape, (5, 7))
        assert not failures(place)
    monkeypatch.chdir(moved)
    assert open_artifact(Path()).path == moved


def test_files_may_be_links(tmp_path: Path, make_artifact: Make) -> None:
    """Content-addressed stores use this layout."""
    path = make_artifact(tmp_path / "a")
    store = tmp_path / "store"
    shutil.move(path / "params.bin", store)
    (path / "params.bin").symlink_to(store)
    assert open_artifact(path).parameters("double")
    assert not failures(path)


@pytest.mark.parametrize("name", ["model.so", "params.bin", "config.json", "voices/af_heart.npy"])
@pytest.mark.parametrize("damage", ["truncated", "longer", "missing", "folder"])
def test_wrong_size_is_refused_at_open(
    tmp_path: Path, make_artifact: Make, name: str, damage: str
) -> None:
    path = make_artifact(tmp_path / "a")
    file = path / name
    content = file.read_bytes()
    file.unlink()
    if damage == "truncated":
        file.write_bytes(content[:-1])
    elif damage == "longer":
        file.write_bytes(content + b"\0")
    elif damage == "folder":
        file.mkdir()
    with pytest.raises(ArtifactError, match=f"{Path(name).name}.*; copy the artifact again or"):
        open_artifact(path)
    assert name in failures(path)


@pytest.mark.parametrize(
    ("name", "position"),
    [("model.so", 0), ("model.so", 300), ("model.so", -1), ("config.json", -1)],
)
def test_bit_flip_in_what_is_run_is_refused_at_open(
    tmp_path: Path, make_artifact: Make, name: str, position: int
) -> None:
    """The configuration too: its ids are indices that the library does not check."""
    path = make_artifact(tmp_path / "a")
    flip_bit(path / name, position)
    with pytest.raises(ArtifactError, match=rf"{name} is damaged: its sha256 is"):
        open_artifact(path)
    assert name in failures(path)


@pytest.mark.parametrize("name", ["params.bin", "voices/af_heart.npy"])
def test_bit_flip_elsewhere_is_found_by_verify(
    tmp_path: Path, make_artifact: Make, name: str
) -> None:
    path = make_artifact(tmp_path / "a")
    flip_bit(path / name, -1)
    open_artifact(path)  # by contract: hashing the parameters would cost what mapping saves
    assert list(failures(path)) == [name]
    assert "build it anew" in failures(path)[name]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_in_place_of_a_manifest_is_refused_and_not_waited_for(
    tmp_path: Path, make_artifact: Make
) -> None:
    path = make_artifact(tmp_path / "a")
    (path / "manifest.json").unlink()
    os.mkfifo(path / "manifest.json")
    with pytest.raises(ArtifactError, match=r"manifest\.json is no file; build"):
        open_artifact(path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"null", b"[" * 100_000])
def test_damaged_manifest(tmp_path: Path, make_artifact: Make, content: bytes) -> None:
    path = make_artifact(tmp_path / "a")
    (path / "manifest.json").write_bytes(content)
    with pytest.raises(ArtifactError, match=r"manifest\.json is damaged"):
        open_artifact(path)
    assert list(failures(path)) == ["manifest.json"]


def test_every_bit_of_the_manifest_counts(tmp_path: Path, make_artifact: Make) -> None:
    path = make_artifact(tmp_path / "a")
    file = path / "manifest.json"
    size = file.stat().st_size
    for position in range(3, size - 3, size // 40):
        flip_bit(file, position)
        with pytest.raises(ArtifactError):
            open_artifact(path)
        flip_bit(file, position)
    open_artifact(path)


def test_newer_schema(tmp_path: Path, make_artifact: Make) -> None:
    path = make_artifact(tmp_path / "a")
    file = path / "manifest.json"
    data = json.loads(file.read_text())
    file.write_text(json.dumps({**data, "schema_version": 99, "new": True}))
    with pytest.raises(ArtifactError, match=r"schema 99.*made by a newer kokoro_pipeline"):
        open_artifact(path)


@pytest.mark.parametrize(
    ("built", "here", "accepted"),
    [
        ("0.27.0", "0.27.0.post1", True),
        ("0.27.1", "0.27.0", True),
        ("0.26.0", "0.27.0", False),
        ("0.28.0.dev3", "0.27.0", False),
        ("1.27.0", "0.27.0", False),
        ("nonsense", "0.27.0", False),
    ],
)
def test_tvm_of_another_minor_is_refused_naming_both(
    tmp_path: Path,
    make_artifact: Make,
    monkeypatch: pytest.MonkeyPatch,
    built: str,
    here: str,
    accepted: bool,
) -> None:
    path = make_artifact(tmp_path / "a", versions={"apache-tvm": built})
    monkeypatch.setattr(importlib.metadata, "version", lambda name: here)
    if accepted:
        open_artifact(path)
        return
    with pytest.raises(ArtifactError) as caught:
        open_artifact(path)
    assert built in str(caught.value)
    assert here in str(caught.value) or built == "nonsense"
    assert "TVM" in failures(path)


def test_tvm_that_was_not_recorded(tmp_path: Path, make_artifact: Make) -> None:
    with pytest.raises(ArtifactError, match="not recorded"):
        open_artifact(make_artifact(tmp_path / "a", versions={}))


def test_tvm_not_installed(
    tmp_path: Path, make_artifact: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_artifact(tmp_path / "a", versions={"apache-tvm": "0.27.0"})

    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    with pytest.raises(EnvironmentFault, match=r"pip install 'apache-tvm==0\.27\.0'"):
        open_artifact(path)


def test_cpu_without_the_features_is_refused(tmp_path: Path, make_artifact: Make) -> None:
    lacking = next(name for name in ("sve2", "xop") if name not in cpu.host_features())
    path = make_artifact(tmp_path / "a", target=TargetInfo("llvm", "exotic", (lacking,)))
    with pytest.raises(ArtifactError, match=f"exotic; this CPU lacks {lacking}.*--mcpu"):
        open_artifact(path)
    assert read_artifact(path).manifest.target.mcpu == "exotic"  # `info` works anywhere
    assert list(failures(path)) == ["CPU"]


def test_library_for_another_machine_is_refused(
    tmp_path: Path,
    make_artifact: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = make_artifact(tmp_path / "a")
    monkeypatch.setattr(reader, "check_target", lambda *args: "")
    other = {"x86_64": "aarch64", "aarch64": "x86_64"}[cpu.host_architecture()]
    monkeypatch.setattr("kokoro_pipeline.artifact.binary.host_architecture", lambda: other)
    with pytest.raises(ArtifactError, match=f"this machine is {other}"):
        open_artifact(path)


def test_path_traversal_in_the_manifest_is_refused(
    tmp_path: Path, make_artifact: Make, make_manifest: Callable[..., Manifest]
) -> None:
    from kokoro_pipeline.artifact import manifest as module

    path = make_artifact(tmp_path / "a")
    (tmp_path / "secret").write_text("x")
    file = path / "manifest.json"
    data = json.loads(file.read_text())
    data["files"]["../secret"] = {"sha256": "0" * 64, "size": 1}
    data["sha256"] = module._self_hash(data)
    file.write_text(json.dumps(data))
    with pytest.raises(ArtifactError, match="does not name a file inside the folder"):
        open_artifact(path)


def test_unlisted_files_are_found_by_verify(tmp_path: Path, make_artifact: Make) -> None:
    path = make_artifact(tmp_path / "a")
    (path / "voices" / "mine.npy").write_bytes(b"")
    open_artifact(path)
    assert "voices/mine.npy" in failures(path)["unlisted files"]


def test_what_is_no_artifact(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    for name, message in [
        ("empty", r"not an artifact: it has no manifest\.json"),
        ("file", "is a file"),
        ("absent", "does not exist"),
    ]:
        for action in (open_artifact, verify_artifact):
            with pytest.raises(ArtifactError, match=f"{message}.*kokoro-pipeline build -o"):
                action(tmp_path / name)


def test_unreadable_manifest(tmp_path: Path, make_artifact: Make) -> None:
    path = make_artifact(tmp_path / "a")
    (path / "manifest.json").unlink()
    (path / "manifest.json").mkdir()
    with pytest.raises(ArtifactError, match="cannot read"):
        open_artifact(path)


def test_huge_manifest_is_not_read(
    tmp_path: Path, make_artifact: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_artifact(tmp_path / "a")
    monkeypatch.setattr(reader, "_LARGEST_MANIFEST", 100)
    with pytest.raises(ArtifactError, match="over 100 bytes"):
        open_artifact(path)


def test_opening_reads_no_file_but_the_library_and_the_configuration(
    tmp_path: Path, make_artifact: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_artifact(tmp_path / "a")
    read: list[str] = []
    original = reader.file_sha256

    def watch(file: Path) -> str:
        read.append(file.name)
        return original(file)

    monkeypatch.setattr(reader, "file_sha256", watch)
    open_artifact(path)
    assert read == ["model.so", "config.json"]
