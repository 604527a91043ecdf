"""Arrays that kernels can read: C-contiguous, native byte order, 64-byte aligned, writable.

Compiled code assumes the alignment without checking it, and a misaligned address makes it crash.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kokoro_pipeline.artifact.manifest import ALIGNMENT

Array = NDArray[Any]


def aligned_empty(shape: tuple[int, ...], dtype: DTypeLike) -> Array:
    """An uninitialized C-contiguous array whose address is a multiple of 64."""
    dtype = np.dtype(dtype)
    count = 1
    for size in shape:
        count *= size
    room = np.empty(count * dtype.itemsize + ALIGNMENT, np.uint8)
    start = -room.ctypes.data % ALIGNMENT
    return room[start : start + count * dtype.itemsize].view(dtype).reshape(shape)


def aligned_copy(array: Array) -> Array:
    """A copy of `array` that a kernel can read, with the same shape and dtype."""
    copy = aligned_empty(array.shape, array.dtype)
    np.copyto(copy, array)
    return copy


def is_kernel_ready(array: Array) -> bool:
    """Whether a kernel can read `array` without a copy."""
    return (
        array.flags.c_contiguous
        and array.flags.writeable  # numpy does not export read-only arrays through DLPack
        and array.dtype.isnative
        and array.ctypes.data % ALIGNMENT == 0
    )


def kernel_ready(array: Array) -> Array:
    """Return `array` if a kernel can read it, else an aligned copy."""
    return array if is_kernel_ready(array) else aligned_copy(array)
