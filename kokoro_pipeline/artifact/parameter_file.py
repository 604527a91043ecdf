"""The parameter file: consecutive little-endian tensors, each at a multiple of 64 bytes.

The file is mapped copy-on-write and passed to the kernels without a copy. Loading therefore does
not read the file, and processes that run the same artifact share its pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ..errors import ArtifactError
from .disk import writing
from .manifest import ALIGNMENT, DTYPES, ParameterSpec


def write_parameters(path: Path, arrays: Iterable[tuple[str, np.ndarray]]) -> list[ParameterSpec]:
    """Write named arrays of any layout and byte order, holding only one in memory at a time.

    Returns their specs in the same order. The file is never empty, since an empty file cannot be
    mapped. Raises ArtifactError for an unsupported dtype, EnvironmentFault if the file cannot be
    written.
    """
    specs = []
    with writing(path), path.open("wb") as file:
        for name, array in arrays:
            if array.dtype.name not in DTYPES:
                raise ArtifactError(f"parameter {name}: an artifact cannot hold {array.dtype}")
            specs.append(ParameterSpec(name, array.dtype.name, array.shape, file.tell()))
            values = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
            file.write(values.reshape(-1).view(np.uint8).data)
            file.write(bytes(-file.tell() % ALIGNMENT))
        if file.tell() == 0:
            file.write(bytes(ALIGNMENT))
    return specs


def map_parameters(path: Path, specs: Sequence[ParameterSpec]) -> list[np.ndarray]:
    """Views into a copy-on-write mapping of a parameter file, in the order of `specs`.

    Every array is C-contiguous and aligned to 64 bytes. Arrays may be modified; the changes are
    private to this process. Only the part of the file that `specs` spans is mapped.

    Raises ArtifactError if the file is missing, too short or cannot be mapped.
    """
    filled = [spec for spec in specs if spec.size]
    start = min((spec.offset for spec in filled), default=0)
    stop = max((spec.offset + spec.size for spec in filled), default=1)
    try:
        available = path.stat().st_size
        _check_specs(path, specs, available)
        mapped = np.memmap(path, np.uint8, mode="c", offset=start, shape=(stop - start,))
    except (OSError, ValueError) as error:
        raise ArtifactError(f"cannot map the parameters {path}: {error}") from error
    if mapped.ctypes.data % ALIGNMENT:
        raise ArtifactError(f"{path} was mapped at an address that is not aligned to {ALIGNMENT}")
    # Convert to a plain ndarray, since the subclass memmap adds overhead to every operation.
    values = np.asarray(mapped)
    return [_view(values, spec, start) for spec in specs]


def _check_specs(path: Path, specs: Sequence[ParameterSpec], available: int) -> None:
    for spec in specs:
        if spec.offset % ALIGNMENT:
            raise ArtifactError(
                f"{path}: {spec.name} is at {spec.offset}, not a multiple of {ALIGNMENT}"
            )
        end = spec.offset + spec.size
        if end > available:
            raise ArtifactError(
                f"{path} is truncated: parameter {spec.name} ends at byte {end} of {available}"
            )


def _view(values: np.ndarray, spec: ParameterSpec, start: int) -> np.ndarray:
    # The offset of an empty array may be outside of the mapped part; use the beginning instead.
    first = spec.offset - start if spec.size else 0
    dtype = np.dtype(spec.dtype).newbyteorder("<")
    return values[first : first + spec.size].view(dtype).reshape(spec.shape)
