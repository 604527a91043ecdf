"""`bundle` checks that its parts belong together, and writes them whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kokoro_pipeline.artifact.manifest import TargetInfo
from kokoro_pipeline.bundling import parts, writing
from kokoro_pipeline.runtime.engine.ffi_compatibility import RECOMMENDED


@pytest.fixture
def packages(make_artifact: Callable[..., Path], tmp_path: Path) -> Path:
    """What `pip install --target` leaves of the two wheels, with empty libraries."""
    library = (make_artifact(tmp_path / "for-library") / "model.so").read_bytes()
    root = tmp_path / "packages"
    for name, folder, file, version in (
        ("apache_tvm", "tvm", "libtvm_runtime.so", RECOMMENDED[0]),
        ("apache_tvm_ffi", "tvm_ffi", "libtvm_ffi.so", RECOMMENDED[1]),
    ):
        (root / folder / "lib").mkdir(parents=True)
        (root / folder / "lib" / file).write_bytes(library)
        info = root / f"{name}-{version}.dist-info"
        (info / "licenses").mkdir(parents=True)
        (info / "licenses" / "LICENSE").write_text(f"licence of {name}")
        project = name.replace("_", "-")
        (info / "METADATA").write_text(f"Name: {project}\nVersion: {version}\n")
        (info / "RECORD").write_text(f"{info.name}/licenses/LICENSE,,\n{folder}/lib/{file},,\n")
    return root


@pytest.fixture
def program(packages: Path, tmp_path: Path) -> Path:
    file = tmp_path / "program"
    library = packages / "tvm" / "lib" / "libtvm_runtime.so"
    file.write_bytes(library.read_bytes() + b"\0Usage: kokoro-say\0")
    return file


def test_a_bundle_has_every_part_and_its_licence(
    run_cli, make_artifact, packages, program, tmp_path
):
    artifact = make_artifact(tmp_path / "kokoro")
    output = tmp_path / "out"
    ended = run_cli("bundle", artifact, "-o", output, "--program", program, "--packages", packages)
    assert (ended.code, ended.err) == (0, "")
    found = {file.relative_to(output).as_posix() for file in output.rglob("*") if file.is_file()}
    assert found == {
        *("bundle.json", "bin/kokoro-say", "lib/libtvm_ffi.so", "lib/libtvm_runtime.so"),
        *("lib/tvm-versions.json", "licenses/kokoro-say/LICENSE"),
        *("licenses/apache-tvm/LICENSE", "licenses/apache-tvm-ffi/LICENSE"),
        *(f"kokoro/{name}" for name in ("manifest.json", "model.so", "params.bin", "config.json")),
        *("kokoro/voices/af_heart.npy", "kokoro/voices/af_bella.npy"),
    }
    assert os.access(output / "bin/kokoro-say", os.X_OK)
    assert not os.access(output / "kokoro" / "config.json", os.X_OK)
    versions = json.loads((output / "lib/tvm-versions.json").read_text())
    assert (versions["apache-tvm"], versions["apache-tvm-ffi"]) == RECOMMENDED
    assert run_cli("verify", output / "kokoro").out.count("FAILED") == 0
    again = run_cli("bundle", artifact, "-o", output, "--program", program, "--packages", packages)
    assert again.code == 3
    assert "--force" in again.err
    words = ["-o", output, "--program", program, "--packages", packages, "--force", "--json"]
    assert json.loads(run_cli("bundle", artifact, *words).out)["files"] == sorted(found)
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_an_archive_has_the_same_files_and_is_reproducible(
    run_cli, make_artifact, packages, program, tmp_path
):
    artifact = make_artifact(tmp_path / "kokoro")
    words = ["--program", program, "--packages", packages]
    first, second = tmp_path / "a" / "voice.tar.gz", tmp_path / "b" / "voice.tar.gz"
    for output in (first, second):
        assert run_cli("bundle", artifact, "-o", output, *words).code == 0
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as archive:
        names = archive.getnames()
        assert all(name.startswith("voice/") for name in names)
        assert archive.getmember("voice/bin/kokoro-say").mode == 0o755
    assert run_cli("bundle", artifact, "-o", tmp_path / "folder", *words).code == 0
    assert len(names) == sum(path.is_file() for path in (tmp_path / "folder").rglob("*"))


def foreign(file: Path) -> None:
    """Give the header of a library the machine of the other architecture."""
    content = bytearray(file.read_bytes())
    content[18:20] = b"\xb7\x00" if content[18] == 62 else b"\x3e\x00"
    file.write_bytes(content)


def other_version(packages: Path, version: str) -> None:
    info = next(packages.glob("apache_tvm-*"))
    info.joinpath("METADATA").write_text(f"Name: apache-tvm\nVersion: {version}\n")


REFUSED: dict[str, tuple[Callable[[Path, Path, Path], object], str]] = {
    "artifact-damaged": (lambda a, p, k: (a / "params.bin").write_bytes(b"1"), "is damaged"),
    "artifact-of-another-machine": (lambda a, p, k: foreign(a / "model.so"), "is damaged"),
    "program-missing": (lambda a, p, k: p.unlink(), "is not a file: build it"),
    "program-foreign": (lambda a, p, k: foreign(p), "--program"),
    "program-is-text": (lambda a, p, k: p.write_text("#!/bin/sh"), "not a shared library"),
    "program-is-another": (
        lambda a, p, k: shutil.copy(k / "tvm/lib/libtvm_runtime.so", p),
        "is another program than kokoro-say",
    ),
    "library-missing": (lambda a, p, k: (k / "tvm/lib/libtvm_runtime.so").unlink(), "not there"),
    "library-foreign": (lambda a, p, k: foreign(k / "tvm_ffi/lib/libtvm_ffi.so"), "--packages"),
    "no-packages": (lambda a, p, k: shutil.rmtree(k), "has no apache-tvm"),
    "other-version": (
        lambda a, p, k: other_version(k, "0.26.0"),
        "libraries are of apache-tvm 0.26.0",
    ),
    "version-of-no-number": (
        lambda a, p, k: other_version(k, "nightly"),
        "cannot compare versions of apache-tvm",
    ),
    "no-licence": (
        lambda a, p, k: next(k.glob("apache_tvm-*")).joinpath("RECORD").write_text(""),
        "has no LICENSE",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_belong_together_is_refused(
    run_cli, make_artifact, packages, program, tmp_path, name
):
    artifact, output = make_artifact(tmp_path / "kokoro"), tmp_path / "out"
    change, cause = REFUSED[name]
    change(artifact, program, packages)
    ended = run_cli("bundle", artifact, "-o", output, "--program", program, "--packages", packages)
    assert ended.code == 3
    assert cause in ended.err
    assert not output.exists()


def test_hosts_and_devices_are_checked(run_cli, make_artifact, packages, program, tmp_path):
    artifact = make_artifact(tmp_path / "kokoro")
    words = ["-o", tmp_path / "out", "--program", program, "--packages", packages]
    machine = parts.library_machine(artifact / "model.so")
    other = next(name for name, found in parts.HOSTS.items() if found != machine)
    assert "unknown host" in run_cli("bundle", artifact, *words, "--host", "windows").err
    assert f"not for {other}" in run_cli("bundle", artifact, *words, "--host", other).err
    make_artifact(tmp_path / "kokoro", target=TargetInfo("cuda", "generic", ()))
    assert "compiled for cuda" in run_cli("bundle", artifact, *words).err


def test_only_a_bundle_is_replaced(run_cli, make_artifact, packages, program, tmp_path):
    artifact = make_artifact(tmp_path / "kokoro")
    words = ["--program", program, "--packages", packages, "--force"]
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("mine")
    for output in (precious, artifact):
        ended = run_cli("bundle", artifact, "-o", output, *words)
        assert ended.code == 3
        assert "is not a bundle" in ended.err
    for output in (artifact / "inner", artifact / "voices" / "inner.tar.gz"):
        ended = run_cli("bundle", artifact, "-o", output, *words)
        assert ended.code == 3
        assert "lies in the artifact" in ended.err
        assert not output.exists()
    assert (precious / "file").read_text() == "mine"


def test_a_full_disk_leaves_what_was_there(
    run_cli, make_artifact, packages, program, tmp_path, monkeypatch
):
    artifact, output = make_artifact(tmp_path / "kokoro"), tmp_path / "out"
    words = ["-o", output, "--program", program, "--packages", packages]
    assert run_cli("bundle", artifact, *words).code == 0

    def full(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device", str(source), None, str(target))

    monkeypatch.setattr(writing.shutil, "copyfile", full)
    ended = run_cli("bundle", artifact, *words, "--force")
    assert ended.code == 3
    assert "cannot write" in ended.err and "/bin/kokoro-say: the disk is full" in ended.err
    assert f"cannot write {program}" not in ended.err
    assert (output / "bin" / "kokoro-say").is_file()
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_without_a_program_the_remedy_is_told(
    run_cli, make_artifact, packages, tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(parts, "__file__", str(tmp_path / "a" / "b" / "c" / "d.py"))
    artifact = make_artifact(tmp_path / "kokoro")
    ended = run_cli("bundle", artifact, "-o", tmp_path / "out", "--packages", packages)
    assert ended.code == 3
    assert "cargo build --release" in ended.err
