"""Checking audio samples and converting them to 16-bit integers."""

from __future__ import annotations

import numpy as np

from kokoro_pipeline.errors import InputError

FULL_SCALE = 32767
"""The 16-bit value of a sample of 1.0; -1.0 is its negative, so that 0.0 is exactly 0."""


def check_samples(samples: np.ndarray) -> np.ndarray:
    """Convert mono samples to float32 [n].

    Raises InputError for another rank, a dtype that is not floating-point, NaN or infinity.
    """
    values = np.asarray(samples)
    if values.ndim != 1 or values.dtype.kind != "f":
        raise InputError(f"audio is float32 [samples], this is {values.dtype} {list(values.shape)}")
    if bad := int(np.count_nonzero(~np.isfinite(values))):
        raise InputError(f"{bad} of {values.size} samples are NaN or infinite: nothing was written")
    return values.astype(np.float32, copy=False)


def to_pcm16(samples: np.ndarray) -> tuple[np.ndarray, int]:
    """Convert samples to int16 [n], rounding to nearest, and count those clipped to [-1, 1]."""
    clipped = int(np.count_nonzero(np.abs(samples) > 1.0))
    scaled = np.rint(np.clip(samples, -1.0, 1.0) * np.float32(FULL_SCALE))
    return scaled.astype(np.int16), clipped
