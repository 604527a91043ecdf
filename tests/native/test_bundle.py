"""A bundle runs on a machine with neither Python nor Rust, wherever it is moved."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest

import kokoro_pipeline
from kokoro_pipeline.cli import main
from kokoro_pipeline.runtime.audio.wav import encode_wav

HELLO = "həlˈoʊ wˈɜːld"
SYSTEM = ("libc.so", "libm.so", "libstdc++.so", "libgcc_s.so", "libdl.so", "libpthread.so")
"""What every system with the C++ runtime has; libdl and libpthread are parts of libc."""


@pytest.fixture(scope="module")
def bundle(built: Path, toy_artifact: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An unpacked bundle of the toy artifact."""
    folder = tmp_path_factory.mktemp("bundle")
    packed = folder / "voice.tar.gz"
    words = ["bundle", str(toy_artifact), "-o", str(packed)]
    assert main([*words, "--program", str(built / "kokoro-say")]) == 0
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    packed.unlink()
    moved = folder / "moved here"
    (folder / "voice").rename(moved)
    return moved


def test_it_speaks_without_anything_of_this_machine(bundle, toy_artifact, tmp_path):
    output = tmp_path / "a.wav"
    done = subprocess.run(
        [bundle / "bin" / "kokoro-say", "--phonemes", HELLO, "-o", output],
        cwd=tmp_path,
        env={},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with kokoro_pipeline.load(toy_artifact, threads=1) as tts:
        audio: np.ndarray = tts.synthesize(HELLO).audio
    assert output.read_bytes() == encode_wav(audio, 24_000)[0]
    checked = subprocess.run(
        [bundle / "bin" / "kokoro-say", "verify"], env={}, capture_output=True, check=False
    )
    assert checked.returncode == 0, checked.stdout.decode()


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        ("{", "bundle.json is damaged: it does not name its artifact"),
        ('{"artifact": "../kokoro"}', "bundle.json is damaged: it does not name its artifact"),
        ('{"artifact": "none"}', "none does not exist"),
    ],
)
def test_a_damaged_bundle_is_told(bundle, tmp_path, content, cause):
    moved = tmp_path / "bin" / "kokoro-say"
    moved.parent.mkdir()
    shutil.copy(bundle / "bin" / "kokoro-say", moved)
    (tmp_path / "bundle.json").write_text(content)
    said = subprocess.run([moved, "info"], env={}, capture_output=True, text=True, check=False)
    assert said.returncode == 3
    assert cause in said.stderr


def test_a_program_elsewhere_finds_the_libraries_of_the_bundle(bundle, built, tmp_path):
    """The artifact's folder says where they are."""
    program = tmp_path / "kokoro-say"
    shutil.copy(built / "kokoro-say", program)
    words = ["--phonemes", "a", "-o", tmp_path / "a.wav", "--artifact", bundle / "kokoro"]
    assert subprocess.run([program, *words], env={}, check=False).returncode == 0


@pytest.mark.skipif(shutil.which("ldd") is None, reason="ldd is not installed")
def test_it_needs_the_system_and_itself(bundle):
    for file in (bundle / "bin" / "kokoro-say", *(bundle / "lib").glob("*.so")):
        said = subprocess.run(["ldd", file], capture_output=True, text=True, env={}, check=True)
        assert "not found" not in said.stdout
        for line in said.stdout.splitlines():
            name, _, path = line.strip().partition(" => ")
            own = path.startswith(str(bundle / "lib"))
            loader = name.startswith(("linux-vdso", "/lib"))
            assert own or loader or name.startswith(SYSTEM), line


def test_its_size_is_that_of_its_parts(bundle, toy_artifact):
    def size(folder: Path) -> int:
        return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())

    assert (bundle / "bin" / "kokoro-say").stat().st_size <= 2 << 20
    assert size(bundle) - size(toy_artifact) <= 10 << 20


def test_every_crate_is_named_in_the_licences(cargo, bundle):
    words = ["--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"]
    tree = cargo("tree", "--package", "kokoro-say", "--package", "libkokoro", *words).stdout
    crates = {line.split()[0] for line in tree.splitlines() if line.strip()}
    own = {"kokoro-runtime", "kokoro-say", "libkokoro"}
    text = (bundle / "licenses" / "kokoro-say" / "LICENSE").read_text("utf-8")
    assert own < crates
    assert sorted(crates - own - set(re.findall(r"[\w-]+", text))) == []
    for name in ("apache-tvm", "apache-tvm-ffi"):
        assert importlib.metadata.version(name)
        assert (bundle / "licenses" / name / "LICENSE").stat().st_size > 1000
