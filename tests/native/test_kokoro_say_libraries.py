"""Where `kokoro-say` finds TVM's libraries, and which it refuses."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HELLO = "həlˈoʊ wˈɜːld"


@pytest.mark.parametrize("name", ["tvm_ffi", "tvm"])
def test_missing_libraries_are_named(kokoro_say, toy_artifact, tvm_libraries, name):
    kept = [folder for folder in tvm_libraries.split(":") if f"/{name}/" not in folder]
    said = kokoro_say(
        *("--phonemes", HELLO, "--artifact", toy_artifact, "-o", "a.wav"),
        environment={"KOKORO_TVM_LIBS": ":".join(kept)},
    )
    assert said.returncode == 3
    assert b"is not there (searched" in said.stderr and b"kokoro-pipeline bundle" in said.stderr


def test_libraries_are_not_taken_from_the_current_folder(
    built, toy_artifact, tvm_libraries, tmp_path
):
    for folder in tvm_libraries.split(":"):
        for file in Path(folder).glob("libtvm_*.so"):
            (tmp_path / file.name).symlink_to(file)
    rest = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    for value, cause in (("", "is not there"), (".", "not absolute"), ("lib", "not absolute")):
        said = subprocess.run(
            [built / "kokoro-say", "verify", toy_artifact],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env={**rest, "KOKORO_TVM_LIBS": value},
        )
        assert said.returncode == 1
        assert cause in said.stdout


def test_a_library_of_unknown_version_is_refused(kokoro_say, toy_artifact, tvm_libraries, tmp_path):
    folder = tmp_path / "lib"
    folder.mkdir()
    for place in tvm_libraries.split(":"):
        for file in Path(place).glob("libtvm_*.so"):
            shutil.copy(file, folder)
    words = ["--phonemes", HELLO, "--artifact", toy_artifact, "-o", "a.wav"]
    where = {"KOKORO_TVM_LIBS": str(folder)}
    for versions, cause in (
        (None, "cannot tell the version"),
        ("{}", "is damaged: it does not say"),
        ('{"apache-tvm": "0.26.0"}', "this is apache-tvm 0.26.0"),
    ):
        if versions is not None:
            (folder / "tvm-versions.json").write_text(versions)
        said = kokoro_say(*words, environment=where)
        assert said.returncode == 3
        assert cause in said.stderr.decode()


@pytest.mark.parametrize("name", ["libtvm_ffi.so", "libtvm_runtime.so"])
def test_a_library_that_was_copied_in_part_is_told(
    kokoro_say, toy_artifact, tvm_libraries, tmp_path, name
):
    """The loader would end the process at the first page that is missing."""
    folder = tmp_path / "lib"
    folder.mkdir()
    for place in tvm_libraries.split(":"):
        for file in Path(place).glob("libtvm_*.so"):
            shutil.copy(file, folder)
    (folder / "tvm-versions.json").write_text('{"apache-tvm": "0.27.0"}')
    os.truncate(folder / name, 100_000)
    where = {"KOKORO_TVM_LIBS": str(folder)}
    words = ["--phonemes", HELLO, "--artifact", toy_artifact, "-o", "a.wav"]
    said = kokoro_say(*words, environment=where)
    assert said.returncode == 3
    assert f"{name} is damaged: it has 100000 bytes of " in said.stderr.decode()
    checked = kokoro_say("verify", toy_artifact, environment=where)
    assert checked.returncode == 1
    assert b"FAILED  TVM " in checked.stdout
