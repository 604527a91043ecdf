"""The manifest: what is written is read back, and anything else is rejected."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kokoro_pipeline.artifact.manifest import (
    PRECISIONS,
    SCHEMA_VERSION,
    Choices,
    ConvolutionChoice,
    FileEntry,
    Manifest,
    ParameterSpec,
    TargetInfo,
    affine,
    from_json,
    is_safe_path,
    loads,
)
from kokoro_pipeline.errors import ArtifactError

ENTRY = FileEntry("a" * 64, 4096)
FILES = {"model.so": ENTRY, "params.bin": ENTRY, "voices/af_heart.npy": ENTRY}


@pytest.fixture
def manifest(make_manifest: Callable[..., Manifest]) -> Manifest:
    parameters = [ParameterSpec("w", "float32", (2, 3), 64), ParameterSpec("s", "int64", (), 128)]
    choice = ConvolutionChoice("fft32x8", {"fft32x8": 10.5, "direct": 20})
    choices = Choices("a CPU", {"64->64 k3, 9 rows": choice})
    return make_manifest(parameters, files=dict(FILES), choices=choices)


def resealed(manifest: Manifest, change: Callable[[dict[str, Any]], object]) -> str:
    """The text of the manifest after `change`, with a corrected self-hash."""
    from kokoro_pipeline.artifact import manifest as module

    data = manifest.to_json()
    change(data)
    data["sha256"] = module._self_hash(data)
    return json.dumps(data)


def test_round_trip_keeps_everything(manifest: Manifest) -> None:
    read = loads(manifest.dumps())
    assert read == manifest.sealed()
    assert read.voices == ("af_heart",)
    assert read.library == "model.so"
    assert loads(json.dumps(read.to_json())) == read  # what `info --json` prints


def test_self_hash_ignores_layout_but_no_content(manifest: Manifest) -> None:
    sealed = manifest.sealed()
    shuffled = dict(reversed(list(sealed.to_json().items())))
    assert from_json(shuffled) == sealed
    assert replace(manifest, opt_level=2).sealed().sha256 != sealed.sha256


def test_every_changed_character_is_refused_or_means_the_same(manifest: Manifest) -> None:
    text = manifest.dumps()
    for position in range(0, len(text), 7):
        damaged = text[:position] + chr(ord(text[position]) ^ 1) + text[position + 1 :]
        try:
            read = loads(damaged)
        except ArtifactError:
            continue
        assert read == manifest.sealed(), f"position {position}"


@pytest.mark.parametrize("precision", PRECISIONS)
def test_precision_is_kept(manifest: Manifest, precision: str) -> None:
    target = replace(manifest.target, kind="cuda", precision=precision)
    assert loads(replace(manifest, target=target).dumps()).target == target


def test_the_native_runtime_knows_the_same_precisions() -> None:
    source = Path(__file__).parents[3] / "native/kokoro-runtime/src/artifact/manifest.rs"
    found = re.search(r"const PRECISIONS: \[&str; \d+\] =\s*\[(.*?)\];", source.read_text("utf-8"))
    assert found is not None
    assert tuple(json.loads(f"[{found[1]}]")) == PRECISIONS


def test_a_precision_that_is_not_known_is_refused(manifest: Manifest) -> None:
    target = replace(manifest.target, kind="cuda")
    known = ", ".join(PRECISIONS)
    with pytest.raises(ArtifactError, match=f"target.precision is 'int4', not one of {known}"):
        replace(manifest, target=replace(target, precision="int4")).dumps()


@pytest.mark.parametrize(
    ("kind", "device"), [("llvm", "cpu"), ("cuda", "cuda"), ("metal", "metal")]
)
def test_device_and_architectures_are_kept(manifest: Manifest, kind: str, device: str) -> None:
    target = TargetInfo(kind, "generic", (), "linux-aarch64", ("sm_80", "sm_90"))
    read = loads(replace(manifest, target=target).dumps())
    assert read.target == target
    assert read.target.device == device


@pytest.mark.parametrize("length", [0, 1, 100, -2])
def test_truncated_text_is_damaged(manifest: Manifest, length: int) -> None:
    with pytest.raises(ArtifactError, match="damaged"):
        loads(manifest.dumps()[:length])


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_an_older_schema_is_refused_with_what_to_do(manifest: Manifest, version: int) -> None:
    with pytest.raises(ArtifactError, match=rf"schema {version}, .* older .*; build .* anew"):
        loads(resealed(manifest, lambda data: data.update(schema_version=version)))


def test_newer_schema_is_named_even_where_its_hash_is_unknown(manifest: Manifest) -> None:
    data = {**manifest.to_json(), "schema_version": SCHEMA_VERSION + 1, "sha256": "other rule"}
    with pytest.raises(ArtifactError, match=r"schema 6, this package reads up to 5.*upgrade"):
        from_json(data)


@pytest.mark.parametrize("version", [0.5, -1, "1", None, True])
def test_schema_version_is_a_number(manifest: Manifest, version: object) -> None:
    with pytest.raises(ArtifactError, match="schema_version"):
        from_json({**manifest.to_json(), "schema_version": version})


BAD_FIELDS: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("lacks target", lambda d: d.pop("target")),
    ("has unknown extra", lambda d: d.update(extra=1)),
    ("weights lacks seed", lambda d: d["weights"].pop("seed")),
    ("weights.sha256", lambda d: d["weights"].update(sha256="A" * 64)),
    ("weights.synthetic", lambda d: d["weights"].update(synthetic=1)),
    ("opt_level", lambda d: d.update(opt_level=True)),
    ("target.features", lambda d: d["target"].update(features="avx2")),
    ("functions is list", lambda d: d.update(functions=[])),
    (r"inputs\[0\].dtype", lambda d: d["functions"]["double"]["inputs"][0].update(dtype="bf16")),
    (r"shape\[0\]", lambda d: d["functions"]["double"]["inputs"][0].update(shape=["t*t"])),
    (r"shape\[1\]", lambda d: d["functions"]["double"]["outputs"][0].update(shape=[1, -2])),
    ("multiple of 64", lambda d: d["functions"]["double"]["parameters"][0].update(offset=4)),
    ("ends at byte", lambda d: d["functions"]["double"]["parameters"][0].update(offset=4096)),
    ("params.bin is not listed", lambda d: d["files"].pop("params.bin")),
    ("expected one of model.so", lambda d: d["files"].pop("model.so")),
    ("expected one of", lambda d: d["files"].update({"model.dylib": d["files"]["model.so"]})),
    ("size", lambda d: d["files"]["model.so"].update(size=-1)),
    ("choices lacks convolutions", lambda d: d["choices"].pop("convolutions")),
    ("choices.measured_on is 1", lambda d: d["choices"].update(measured_on=1)),
    (
        "64->64 k3, 9 rows has unknown x",
        lambda d: d["choices"]["convolutions"]["64->64 k3, 9 rows"].update(x=1),
    ),
    (
        "microseconds.direct is -1",
        lambda d: d["choices"]["convolutions"]["64->64 k3, 9 rows"]["microseconds"].update(
            direct=-1
        ),
    ),
    (
        "microseconds.direct is True",
        lambda d: d["choices"]["convolutions"]["64->64 k3, 9 rows"]["microseconds"].update(
            direct=True
        ),
    ),
    ("versions.apache-tvm", lambda d: d["versions"].update({"apache-tvm": 27})),
]


@pytest.mark.parametrize(("message", "change"), BAD_FIELDS, ids=[name for name, _ in BAD_FIELDS])
def test_bad_field_is_named(
    manifest: Manifest, message: str, change: Callable[[dict[str, Any]], object]
) -> None:
    with pytest.raises(ArtifactError, match=message):
        loads(resealed(manifest, change))


UNSAFE = ["/etc/passwd", "../x", "voices/../../x", "a//b", "", ".", "a/", "C:\\x", "a\\b", "x\0y"]


@pytest.mark.parametrize("path", [*UNSAFE, "manifest.json"])
def test_file_names_stay_inside_the_folder(manifest: Manifest, path: str) -> None:
    text = resealed(manifest, lambda d: d["files"].update({path: d["files"]["model.so"]}))
    with pytest.raises(ArtifactError, match="does not name a file inside the folder"):
        loads(text)
    with pytest.raises(ArtifactError):
        replace(manifest, files={**FILES, path: ENTRY}).dumps()


def test_safe_names() -> None:
    assert all(map(is_safe_path, ["model.so", "voices/af_heart.npy", "a b/é.npy", "..x"]))


def test_a_value_that_json_lacks_is_refused_when_written(manifest: Manifest) -> None:
    with pytest.raises(ArtifactError, match="JSON"):
        replace(manifest, validation={"rms": float("nan")}).dumps()
    with pytest.raises(ArtifactError, match="NaN"):
        loads('{"schema_version": NaN}')


@pytest.mark.parametrize(
    ("text", "parts"),
    [("n", (1, "n", 0)), ("2*t", (2, "t", 0)), ("120*t+1", (120, "t", 1)), ("t+10", (1, "t", 10))],
)
def test_dimensions(text: str, parts: tuple[int, str, int]) -> None:
    assert affine(text) == parts


@pytest.mark.parametrize("text", ["", "2", "0*t", "t*2", "t-1", "a*b", "t + 1", "__import__('os')"])
def test_no_dimension(text: str) -> None:
    with pytest.raises(ArtifactError, match="dimension"):
        affine(text)
