"""Parameters are aligned in their file, and are mapped instead of read."""

from __future__ import annotations

import errno
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kokoro_pipeline.artifact.manifest import ParameterSpec
from kokoro_pipeline.artifact.parameter_file import map_parameters, write_parameters
from kokoro_pipeline.errors import ArtifactError, EnvironmentFault

ARRAYS: dict[str, np.ndarray] = {
    "matrix": np.arange(35, dtype=np.float32).reshape(5, 7),
    "scalar": np.array(3, np.int64),
    "transposed": np.arange(12, dtype=np.float64).reshape(3, 4).T,
    "strided": np.arange(20, dtype=np.int32)[::3],
    "big endian": np.arange(5, dtype=">f4"),
    "no values": np.empty((0, 4), np.float32),
    "flags": np.array([True, False, True]),
    "half": np.arange(3, dtype=np.float16),
    "last, empty": np.empty(0, np.int8),
}


def test_round_trip_of_every_layout(tmp_path: Path) -> None:
    file = tmp_path / "params.bin"
    specs = write_parameters(file, ARRAYS.items())
    assert [spec.name for spec in specs] == list(ARRAYS)
    assert file.stat().st_size % 64 == 0
    for array, spec in zip(map_parameters(file, specs), specs, strict=True):
        expected = ARRAYS[spec.name]
        assert array.shape == expected.shape, spec.name
        assert array.dtype == expected.dtype.newbyteorder("="), spec.name
        assert array.ctypes.data % 64 == 0, spec.name
        assert array.flags.c_contiguous, spec.name
        assert array.flags.writeable, "dlpack refuses read-only arrays"
        np.testing.assert_array_equal(array, expected)


def test_mapping_copies_nothing_and_writes_nothing_back(tmp_path: Path) -> None:
    file = tmp_path / "params.bin"
    specs = write_parameters(file, [("x", np.zeros(4, np.float32))])
    before = file.read_bytes()
    first, again = (map_parameters(file, specs)[0] for _ in range(2))
    assert not first.flags.owndata
    first[:] = 1
    assert file.read_bytes() == before
    assert not again.any()


def test_a_part_of_the_specs_maps_its_part_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each function only maps its own parameters."""
    spans: list[int] = []
    original: Any = np.memmap

    def watch(*arguments: Any, shape: tuple[int], **options: Any) -> np.memmap:
        spans.append(*shape)
        return original(*arguments, shape=shape, **options)

    monkeypatch.setattr(np, "memmap", watch)
    file = tmp_path / "params.bin"
    arrays = {f"p{i}": np.full(3000 + i, i, np.float32) for i in range(6)}
    specs = write_parameters(file, [*arrays.items(), ("none", np.empty(0, np.float32))])
    some = [specs[6], specs[4], specs[3]]
    none, four, three = map_parameters(file, some)
    np.testing.assert_array_equal(four, arrays["p4"])
    np.testing.assert_array_equal(three, arrays["p3"])
    assert none.shape == (0,)
    assert all(array.ctypes.data % 64 == 0 for array in (none, three, four))
    assert spans == [specs[4].offset + specs[4].size - specs[3].offset]


def test_writing_holds_one_array_at_a_time(tmp_path: Path) -> None:
    alive: list[Any] = []

    def stream() -> Any:
        for i in range(3):
            alive.append(i)
            yield f"p{i}", np.full(8, i, np.float32)
            assert (tmp_path / "params.bin").exists()

    assert [spec.offset for spec in write_parameters(tmp_path / "params.bin", stream())] == [
        0,
        64,
        128,
    ]
    assert alive == [0, 1, 2]


@pytest.mark.parametrize("arrays", [[], [("x", np.empty((0, 3), np.float32))]])
def test_no_parameters_still_map(tmp_path: Path, arrays: list[tuple[str, np.ndarray]]) -> None:
    file = tmp_path / "params.bin"
    specs = write_parameters(file, arrays)
    assert [array.shape for array in map_parameters(file, specs)] == [a.shape for _, a in arrays]


@pytest.mark.parametrize("dtype", ["complex64", "U3", object])
def test_dtype_that_no_kernel_takes_is_refused(tmp_path: Path, dtype: Any) -> None:
    with pytest.raises(ArtifactError, match="cannot hold"):
        write_parameters(tmp_path / "params.bin", [("x", np.zeros(2, dtype))])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (ParameterSpec("x", "float32", (1000,), 0), "truncated"),
        (ParameterSpec("x", "float32", (1,), 4), "not a multiple of 64"),
    ],
)
def test_spec_that_does_not_fit_the_file(tmp_path: Path, spec: ParameterSpec, message: str) -> None:
    file = tmp_path / "params.bin"
    write_parameters(file, [("x", np.zeros(4, np.float32))])
    with pytest.raises(ArtifactError, match=message):
        map_parameters(file, [spec])


@pytest.mark.parametrize("content", [None, b""])
def test_missing_or_empty_file(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "params.bin"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ArtifactError, match="cannot map"):
        map_parameters(file, [])


def test_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class FullDisk(io.BytesIO):
        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "open", lambda self, mode: FullDisk())
    with pytest.raises(EnvironmentFault, match="disk is full"):
        write_parameters(tmp_path / "params.bin", ARRAYS.items())
