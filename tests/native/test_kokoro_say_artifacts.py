"""`kokoro-say` says of an artifact what Python says, and refuses what Python refuses."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kokoro_pipeline.artifact.manifest import (
    Choices,
    ConvolutionChoice,
    FunctionSpec,
    Manifest,
    TensorSpec,
    loads,
)
from kokoro_pipeline.artifact.reader import file_sha256
from kokoro_pipeline.cli import main

HELLO = "həlˈoʊ wˈɜːld"


def rewrite(folder: Path, change: Callable[[Manifest], Manifest]) -> None:
    """Change the manifest and seal it again."""
    file = folder / "manifest.json"
    file.write_text(change(loads(file.read_text("utf-8"))).dumps(), "utf-8")


def test_info_and_verify_say_what_python_says(kokoro_say, toy_artifact, capfd):
    for command in ("info", "verify"):
        native = kokoro_say(command, toy_artifact)
        assert main([command, str(toy_artifact)]) == native.returncode == 0
        wanted = capfd.readouterr().out
        # Python has functions, versions and files in the order of the file, the program sorted.
        words = [
            sorted(text.replace(",", " ").split()) for text in (native.stdout.decode(), wanted)
        ]
        assert words[0] == words[1]
        assert main([command, str(toy_artifact), "--json"]) == 0
        wanted = json.loads(capfd.readouterr().out)
        given = json.loads(kokoro_say(command, toy_artifact, "--json").stdout)
        if command == "verify":
            for report in (wanted, given):
                report["checks"].sort(key=lambda check: check["name"])
        assert given == wanted


@pytest.mark.parametrize(
    ("measured_on", "line"),
    [
        ("", b"convolutions  2 fft2048, 1 winograd (chosen by the model)\n"),
        ("znver4", b"convolutions  2 fft2048, 1 winograd (measured on znver4)\n"),
    ],
)
def test_info_says_what_computes_the_convolutions(
    kokoro_say, toy_artifact, tmp_path, capfd, measured_on, line
):
    folder = tmp_path / "kokoro"
    shutil.copytree(toy_artifact, folder)
    shapes = {
        "a": ConvolutionChoice("winograd", {"winograd": 3.5, "fft2048": 4}),
        "b": ConvolutionChoice("fft2048"),
        "c": ConvolutionChoice("fft2048"),
    }
    rewrite(folder, lambda m: replace(m, choices=Choices(measured_on, shapes)))
    assert main(["info", str(folder)]) == 0
    assert line in capfd.readouterr().out.encode()
    assert line in kokoro_say("info", folder).stdout


def test_a_seed_of_the_weights_may_have_any_size(kokoro_say, toy_artifact, tmp_path):
    """Found by comparing both readers on thousands of manifests with other values."""
    folder = tmp_path / "kokoro"
    shutil.copytree(toy_artifact, folder)
    rewrite(folder, lambda m: replace(m, weights=replace(m.weights, seed=2**70)))
    assert f"synthetic, seed {2**70} ".encode() in kokoro_say("info", folder).stdout


def test_a_pipe_in_place_of_a_manifest_is_refused_and_not_waited_for(kokoro_say, tmp_path):
    os.mkfifo(tmp_path / "manifest.json")
    said = kokoro_say("info", tmp_path)
    assert said.returncode == 3
    assert b"manifest.json is no file; build" in said.stderr


def test_a_path_that_is_not_utf8_is_refused_with_a_way_round(kokoro_say, toy_artifact, tmp_path):
    folder = tmp_path / os.fsdecode(b"\xff")
    try:
        shutil.copytree(toy_artifact, folder)
    except OSError as error:
        pytest.skip(f"the file system has no such names: {error}")
    words = ["--phonemes", HELLO, "-o", tmp_path / "a.wav"]
    said = kokoro_say(*words, "--artifact", folder)
    assert said.returncode == 3
    assert b"not valid UTF-8, which TVM needs of a path: rename the folder" in said.stderr
    assert b"build the artifact" not in said.stderr


def reseal(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the JSON of the manifest to what Python would not write, with a hash that fits."""
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text("utf-8"))
    change(manifest)
    manifest.pop("sha256")
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    file.write_text(json.dumps({**manifest, "sha256": hashlib.sha256(text.encode()).hexdigest()}))


def edit(folder: Path, old: str, new: str, name: str = "manifest.json") -> None:
    """Change the text of the manifest, or of another file."""
    file = folder / name
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")


def relist(folder: Path, name: str, content: bytes) -> None:
    """Replace a file, and list it as it is now."""
    file = folder / name
    file.write_bytes(content)

    def change(manifest: Manifest) -> Manifest:
        entry = replace(manifest.files[name], sha256=file_sha256(file), size=len(content))
        return replace(manifest, files={**manifest.files, name: entry})

    rewrite(folder, change)


def target(**fields: Any) -> Callable[[Path], None]:
    return lambda folder: rewrite(
        folder, lambda manifest: replace(manifest, target=replace(manifest.target, **fields))
    )


def functions(change: Callable[[dict[str, FunctionSpec]], None]) -> Callable[[Path], None]:
    def apply(manifest: Manifest) -> Manifest:
        specs = dict(manifest.functions)
        change(specs)
        return replace(manifest, functions=specs)

    return lambda folder: rewrite(folder, apply)


def other_output(specs: dict[str, FunctionSpec]) -> None:
    outputs = (TensorSpec("d_en", "float32", ("B", 511, "n")),)
    specs["bert_forward"] = replace(specs["bert_forward"], outputs=outputs)


def nan_voice(folder: Path) -> None:
    pack = np.load(folder / "voices" / "af_heart.npy")
    pack[3, 0, 5] = np.nan
    np.save(folder / "voices" / "af_heart.npy", pack)


def nan_weights(folder: Path) -> None:
    parameters = np.fromfile(folder / "params.bin", np.float32)
    parameters[:] = np.nan
    relist(folder, "params.bin", parameters.tobytes())


def foreign_library(folder: Path) -> None:
    content = bytearray((folder / "model.so").read_bytes())
    content[18:20] = b"\xb7\x00" if content[18] == 62 else b"\x3e\x00"
    relist(folder, "model.so", bytes(content))


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no-folder": (shutil.rmtree, "does not exist"),
    "no-manifest": (lambda f: (f / "manifest.json").unlink(), "is not an artifact"),
    "no-json": (lambda f: (f / "manifest.json").write_text("{"), "not valid JSON"),
    "nan-in-json": (lambda f: edit(f, '"opt_level": 0', '"opt_level": NaN'), "not valid JSON"),
    "not-utf8": (lambda f: (f / "manifest.json").write_bytes(b"\xff"), "is damaged"),
    "newer": (lambda f: edit(f, '"schema_version": 5', '"schema_version": 6'), "newer"),
    "older": (lambda f: edit(f, '"schema_version": 5', '"schema_version": 4'), "older"),
    "schema-of-another-type": (
        lambda f: edit(f, '"schema_version": 5', '"schema_version": "5"'),
        "schema_version is",
    ),
    "edited": (lambda f: edit(f, '"opt_level": 0', '"opt_level": 1'), "content hashes to"),
    "library-truncated": (lambda f: os.truncate(f / "model.so", 1000), "has 1000 bytes"),
    "library-flipped": (
        lambda f: (f / "model.so").write_bytes((f / "model.so").read_bytes()[:-1] + b"?"),
        "its sha256 is",
    ),
    "library-of-another-machine": (foreign_library, "is a library for"),
    "library-is-text": (lambda f: relist(f, "model.so", b"x" * 64), "not a shared library"),
    "library-does-not-load": (
        lambda f: relist(f, "model.so", (f / "model.so").read_bytes()[:64] + bytes(4096)),
        "cannot be loaded as a compiled model",
    ),
    "parameters-missing": (lambda f: (f / "params.bin").unlink(), "lacks params.bin"),
    "parameters-truncated": (lambda f: os.truncate(f / "params.bin", 64), "has 64 bytes"),
    "parameters-nan": (nan_weights, "not finite"),
    "config-damaged": (lambda f: relist(f, "config.json", b"{}"), "lacks vocab, n_token"),
    "config-flipped": (
        lambda f: edit(f, '"n_token": 178', '"n_token": 179', "config.json"),
        "config.json is damaged: its sha256 is",
    ),
    "config-no-json": (lambda f: relist(f, "config.json", b"{"), "cannot read the model config"),
    "voice-missing": (lambda f: (f / "voices" / "af_heart.npy").unlink(), "lacks voices/af_heart"),
    "voice-nan": (nan_voice, "1 of the voice's values are NaN"),
    "voice-no-npy": (
        lambda f: (f / "voices" / "af_heart.npy").write_bytes(
            bytes((f / "voices" / "af_heart.npy").stat().st_size)
        ),
        "the artifact's voice af_heart is damaged: ",
    ),
    "other-tvm": (
        lambda f: rewrite(f, lambda m: replace(m, versions={"apache-tvm": "0.26.0"})),
        "was built with apache-tvm 0.26.0",
    ),
    "no-tvm-recorded": (lambda f: rewrite(f, lambda m: replace(m, versions={})), "not recorded"),
    "cpu-features": (target(features=("avx1024",)), "this CPU lacks avx1024"),
    "cuda": (target(kind="cuda", archs=("sm_90",)), "cuda"),
    "metal": (target(kind="metal"), "compiled for"),
    "a-function-less": (functions(lambda s: s.pop("source_forward")), "no source_forward"),
    "a-function-more": (
        functions(lambda s: s.update(more=replace(s["bert_forward"], parameters=()))),
        "has no function more",
    ),
    "choices-of-another-type": (
        lambda f: reseal(f, lambda m: m["choices"].update(measured_on=5)),
        "choices.measured_on is 5",
    ),
    "choice-that-took-less-than-nothing": (
        lambda f: reseal(
            f,
            lambda m: m["choices"]["convolutions"].update(
                {"8x8": {"algorithm": "fft", "microseconds": {"fft": -1}}}
            ),
        ),
        "choices.convolutions.8x8.microseconds.fft is -1",
    ),
    "other-output": (functions(other_output), "library and manifest do not belong together"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_python_refuses_is_refused_with_the_same_code(
    kokoro_say, toy_artifact, tmp_path, capfd, name
):
    damage, cause = DAMAGE[name]
    folder = tmp_path / "kokoro"
    shutil.copytree(toy_artifact, folder)
    damage(folder)
    output = tmp_path / "a.wav"
    words = ["--artifact", folder, "-o", output]
    code = main(["say", "--phonemes", HELLO, *map(str, words)])
    wanted = capfd.readouterr().err
    said = kokoro_say("--phonemes", HELLO, *words)
    assert (code, said.returncode) == (3, 3), wanted + said.stderr.decode()
    assert cause in said.stderr.decode()
    if name not in ("cuda", "metal"):  # which Python can run, on another machine
        assert cause in wanted
    assert not output.exists()
    assert kokoro_say("verify", folder).returncode == main(["verify", str(folder)])
