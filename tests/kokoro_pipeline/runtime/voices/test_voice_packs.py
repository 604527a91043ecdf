"""Voices: all formats of a pack give the same result, and everything else is rejected by name."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kokoro_pipeline.errors import ArtifactError, EnvironmentFault, InputError
from kokoro_pipeline.runtime.voices import (
    PACK_SHAPE,
    list_voices,
    load_voice,
    read_voice_file,
    style_row,
    write_voice,
)
from kokoro_pipeline.runtime.voices.packs import parse_blend

NAMES = ["af_bella", "af_heart", "am_adam", "bf_emma"]


def random_pack(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(PACK_SHAPE, dtype=np.float32)


PACKS = {name: random_pack(i) for i, name in enumerate(NAMES)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "voices").mkdir()
    for name, pack in PACKS.items():
        write_voice(tmp_path / "voices" / f"{name}.npy", pack)
    return tmp_path


def test_names(folder: Path) -> None:
    assert list_voices(folder) == NAMES
    assert list_voices(folder / "voices") == NAMES
    for name, pack in PACKS.items():
        for directory in (folder, folder / "voices"):
            np.testing.assert_array_equal(load_voice(name, directory), pack)
    np.testing.assert_array_equal(load_voice(" af_heart ", folder), PACKS["af_heart"])


def test_a_weights_folder_has_its_voices_too(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    (tmp_path / "voices").mkdir()
    torch.save(torch.from_numpy(PACKS["af_heart"]), tmp_path / "voices" / "af_heart.pt")
    assert list_voices(tmp_path) == ["af_heart"]
    np.testing.assert_array_equal(load_voice("af_heart", tmp_path), PACKS["af_heart"])


@pytest.mark.parametrize("given", [PACK_SHAPE, (510, 256)])
@pytest.mark.parametrize("dtype", ["float32", ">f4", "float64", "float16"])
@pytest.mark.parametrize("order", ["C", "F", "strided"])
def test_arrays(folder: Path, given: tuple[int, ...], dtype: str, order: str) -> None:
    values = random_pack(9).reshape(given).astype(dtype)
    layouts = {"C": values, "F": np.asfortranarray(values), "strided": values.repeat(2, 0)[::2]}
    pack = load_voice(layouts[order], folder)
    assert pack.shape == PACK_SHAPE
    assert pack.dtype == np.float32
    assert pack.flags.c_contiguous
    np.testing.assert_array_equal(pack, values.astype(np.float32).reshape(PACK_SHAPE))


@pytest.mark.parametrize("suffix", [".npy", ".NPY", ".bin", ".pt"])
@pytest.mark.parametrize("shape", [PACK_SHAPE, (510, 256)])
def test_files(folder: Path, tmp_path: Path, suffix: str, shape: tuple[int, ...]) -> None:
    values = random_pack(5).reshape(shape)
    file = tmp_path / f"mine{suffix}"
    if suffix == ".bin":
        file.write_bytes(values.astype("<f4").tobytes())
    elif suffix == ".pt":
        torch = pytest.importorskip("torch")
        torch.save(torch.from_numpy(values), file)
    else:
        with file.open("wb") as stream:
            np.save(stream, values)
    for given in (file, str(file)):
        np.testing.assert_array_equal(load_voice(given, folder), values.reshape(PACK_SHAPE))


def test_a_file_in_the_working_directory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one whose name looks like a blend."""
    monkeypatch.chdir(folder)
    write_voice(folder / "a:0.5,b:0.5.npy", PACKS["am_adam"])
    np.testing.assert_array_equal(load_voice("a:0.5,b:0.5.npy", folder), PACKS["am_adam"])
    np.testing.assert_array_equal(load_voice("voices/am_adam.npy", folder), PACKS["am_adam"])


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("af_heart:0.6,af_bella:0.4", (0.6, 0.4)),
        ("af_heart:6, af_bella : 4", (0.6, 0.4)),
        ("af_heart,af_bella", (0.5, 0.5)),
        ("af_heart:2", (1.0, 0.0)),
    ],
)
def test_blends_are_weighted_means(folder: Path, text: str, weights: tuple[float, float]) -> None:
    expected = weights[0] * PACKS["af_heart"].astype(np.float64)
    expected += weights[1] * PACKS["af_bella"].astype(np.float64)
    blend = load_voice(text, folder)
    assert blend.dtype == np.float32
    np.testing.assert_allclose(blend, expected, rtol=1e-6, atol=1e-7)


def test_blends_of_names_and_files(folder: Path, tmp_path: Path) -> None:
    write_voice(tmp_path / "mine.npy", np.zeros(PACK_SHAPE, np.float32))
    blend = load_voice(f"af_heart:1,{tmp_path}/mine.npy:3", folder)
    np.testing.assert_allclose(blend, PACKS["af_heart"] / 4, rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a name is missing"),
        (",", "a name is missing"),
        ("af_heart,", "a name is missing"),
        (":1", "a name is missing"),
        ("af_heart:x", "'x' is not a weight"),
        ("af_heart:", "'' is not a weight"),
        ("af_heart:0", "is not positive"),
        ("af_heart:-1,af_bella:2", "is not positive"),
        ("af_heart:nan", "is not positive"),
        ("af_heart:inf,af_bella:1", "is not positive"),
        ("af_heart:1e308,af_bella:1e308", "sum of the weights is not finite"),
        ("af_heart:0.5,af_bella", "to every voice or to none"),
        ("af_heart:0.5,af_heart:0.5", "appears twice"),
        ("af_heart\0", "is not the name of a voice"),
    ],
)
def test_bad_blends(folder: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_voice(text, folder)


@pytest.mark.parametrize(
    "text",
    [
        50_000 * "af_heart+",
        50_000 * "af_heart,",
        50_000 * "a" + ":x",
        "a:" + 50_000 * "x",
        50_000 * "a" + ":0",
        "a:-" + 50_000 * "1",
        ",".join(2 * [50_000 * "a"]),
        "a:1," + 50_000 * "b",
        50_000 * "a" + "\0",
    ],
    ids=lambda text: f"{text[:2]}-{len(text)}".replace("\0", ""),
)
def test_an_error_quotes_the_beginning_of_a_long_voice(folder: Path, text: str) -> None:
    with pytest.raises(InputError) as caught:
        load_voice(text, folder)
    assert len(str(caught.value)) < 500


def test_order_of_a_blend_is_kept() -> None:
    assert parse_blend("b:1,a:2") == {"b": 1.0, "a": 2.0}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("af_hart", "did you mean af_heart"),
        ("bella", "did you mean af_bella"),
        ("zzzz", "it has af_bella, af_heart, am_adam, bf_emma"),
        ("..", "it has"),
        ("af_heart:0.5,af_belle:0.5", "did you mean af_bella"),
    ],
)
def test_unknown_voice_lists_near_names(folder: Path, name: str, said: str) -> None:
    with pytest.raises(InputError, match=f"unknown voice .*{said}"):
        load_voice(name, folder)


def test_a_long_list_of_names_is_cut(tmp_path: Path) -> None:
    for i in range(12):
        (tmp_path / f"voice{i:02}.npy").touch()
    with pytest.raises(InputError, match="voice07 and 4 more"):
        load_voice("zzzz", tmp_path)


def test_no_voices_at_all(tmp_path: Path) -> None:
    assert list_voices(tmp_path) == []
    assert list_voices(tmp_path / "absent") == []
    with pytest.raises(InputError, match="holds no voices"):
        load_voice("af_heart", tmp_path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((511, 1, 256), np.float32), r"this has \[511, 1, 256\]"),
        (np.zeros((510, 1, 128), np.float32), r"this has \[510, 1, 128\]"),
        (np.zeros((1, 510, 256), np.float32), "shape"),
        (np.zeros(510 * 256, np.float32), "shape"),
        (np.zeros((), np.float32), "shape"),
        (np.zeros(PACK_SHAPE, np.int32), "int32"),
        (np.zeros(PACK_SHAPE, np.complex64), "complex64"),
        (np.full(PACK_SHAPE, np.nan, np.float32), "130560 of the voice's values are NaN"),
        (np.full(PACK_SHAPE, 1e300), "NaN or infinite"),
    ],
)
def test_what_is_no_pack(folder: Path, tmp_path: Path, values: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_voice(values, folder)
    file = tmp_path / "bad.npy"
    np.save(file, values)
    with pytest.raises(InputError, match=message) as caught:
        load_voice(file, folder)
    assert str(file) in str(caught.value)
    with pytest.raises(InputError):
        write_voice(tmp_path / "out.npy", values)
    assert not (tmp_path / "out.npy").exists()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_one_bad_value_is_enough(folder: Path, tmp_path: Path, value: float) -> None:
    pack = random_pack(0)
    pack[509, 0, 255] = value
    (tmp_path / "bad.bin").write_bytes(pack.tobytes())
    with pytest.raises(InputError, match="1 of the voice's values"):
        load_voice(tmp_path / "bad.bin", folder)


def npy(header: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def saved(values: np.ndarray, allow_pickle: bool = False) -> bytes:
    content = io.BytesIO()
    np.save(content, values, allow_pickle=allow_pickle)
    return content.getvalue()


BAD_NPY: list[tuple[str, Callable[[], bytes]]] = [
    ("empty", lambda: b""),
    ("magic", lambda: b"\x93NUM"),
    ("text", lambda: b"hello " * 100),
    ("truncated", lambda: saved(random_pack(0))[:-4]),
    ("no values", lambda: saved(np.empty((0, 3)))),
    ("pickle", lambda: saved(np.array([{}], object), allow_pickle=True)),
    ("code", lambda: npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': exit(3)}\n")),
    ("unclosed", lambda: npy(b"{'descr': ((((\n")),
    ("no dtype", lambda: npy(b"{'descr': 'nope', 'fortran_order': False, 'shape': (2,)}\n")),
    ("huge", lambda: npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (10**15,)}\n")),
    (
        "negative",
        lambda: npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (-5, 1)}\n" + bytes(20)),
    ),
    (
        "over 64 bits",
        lambda: npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (1" + b"0" * 30 + b",)}\n"),
    ),
    ("long header", lambda: npy(b"{'descr': '<f4'," + b" " * 32_000 + b"'shape': (2,)}\n")),
    ("zip", lambda: b"PK\x03\x04" + bytes(100)),
]


@pytest.mark.parametrize(("name", "content"), BAD_NPY, ids=[name for name, _ in BAD_NPY])
def test_damaged_npy(tmp_path: Path, name: str, content: Callable[[], bytes]) -> None:
    file = tmp_path / "bad.npy"
    file.write_bytes(content())
    with pytest.raises(InputError, match=r"bad\.npy") as caught:
        read_voice_file(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [0, 1, 510 * 256 * 4 - 1, 510 * 256 * 4 + 4])
def test_raw_file_of_another_size(tmp_path: Path, size: int) -> None:
    (tmp_path / "bad.bin").write_bytes(bytes(size))
    with pytest.raises(InputError, match=f"has 522240 bytes of float32, this has {size}"):
        read_voice_file(tmp_path / "bad.bin")


@pytest.mark.parametrize(
    "name",
    [
        *("absent.npy", "absent.bin", "absent.pt", "folder.npy"),
        *("pipe.npy", "pipe.bin", "pipe.pt"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.npy").mkdir()
    for suffix in ("npy", "bin", "pt"):
        os.mkfifo(tmp_path / f"pipe.{suffix}")
    with pytest.raises(InputError, match=r"cannot read|directory"):
        load_voice(str(tmp_path / name), tmp_path)


def test_other_files_and_other_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "voice.safetensors").touch()
    with pytest.raises(InputError, match=r"not a voice file: expected one of \.npy, \.pt, \.bin"):
        load_voice(tmp_path / "voice.safetensors", tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="not a voice file"):
        load_voice("voice.safetensors", tmp_path)
    with pytest.raises(InputError, match="not list"):
        load_voice([1.0], tmp_path)  # type: ignore[arg-type]


def test_a_pt_file_of_several_tensors(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save({"voice": torch.zeros(510, 1, 256)}, tmp_path / "many.pt")
    with pytest.raises(InputError, match="one tensor, this holds dict"):
        read_voice_file(tmp_path / "many.pt")


def test_a_voice_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="cannot write"):
        write_voice(tmp_path / "absent" / "x.npy", PACKS["af_heart"])


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "af_heart is gone from"), (b"", "af_heart is damaged"), (b"\x93NUMPY", "is damaged")],
)
@pytest.mark.parametrize("voice", ["af_heart", "af_bella:2,af_heart:1"])
def test_a_promised_voice_that_is_missing_is_the_artifacts_fault(
    folder: Path, voice: str, content: bytes | None, message: str
) -> None:
    file = folder / "voices" / "af_heart.npy"
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    with pytest.raises(ArtifactError, match=message):
        load_voice(voice, folder, ("af_bella", "af_heart"))
    with pytest.raises(InputError):
        load_voice(voice, folder)


def test_style_row() -> None:
    pack = random_pack(1)
    for n in (1, 7, 510):
        row = style_row(pack, n)
        assert row.shape == (1, 256)
        np.testing.assert_array_equal(row[0], pack[n - 1, 0])
    for n in (0, -1, 511):
        with pytest.raises(InputError, match="1 to 510"):
            style_row(pack, n)
