"""The only random input of the model: the additive noise of the harmonic source.

`noise` is float32 [1, 600 * frames, 9] of standard normals, which kokoro's SineGen draws as
`torch.randn_like(sine_waves)`.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_pipeline.config import N_HARMONICS, SAMPLES_PER_FRAME
from kokoro_pipeline.errors import InputError

_BLOCK = 1 << 15
"""Values drawn at a time: they stay in a core's cache until they are rounded."""


def noise_shape(frames: int) -> tuple[int, int, int]:
    """The shape of the noise of a chunk of `frames` frames."""
    return 1, SAMPLES_PER_FRAME * frames, N_HARMONICS


def check_seed(seed: Any) -> int:
    """Return `seed` as an int. Raises InputError unless it is a nonnegative integer."""
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if isinstance(seed, bool) or number < 0:
        raise InputError(f"seed is {seed!r}, expected a whole number from 0 up")
    return number


def seeded_noise(seed: int, chunk: int, frames: int) -> NDArray[np.float32]:
    """Standard normals for chunk number `chunk` of an utterance, float32 [1, 600*frames, 9].

    The chunks of an utterance draw from independent Philox streams, so that the noise of a chunk
    does not depend on the length of other chunks.

    The values are drawn in float64 and rounded once. numpy's float32 normals depend on the last bit
    of the C library's logarithm, which differs between machines; in float64 that bit is rounded
    away. The native runtime draws the same values, see docs/native.md.
    """
    stream = np.random.SeedSequence(seed, spawn_key=(chunk,))
    generator = np.random.Generator(np.random.Philox(stream))
    noise = np.empty(noise_shape(frames), np.float32)
    flat = noise.reshape(-1)
    block = np.empty(min(flat.size, _BLOCK))
    for start in range(0, flat.size, _BLOCK):
        drawn = block[: flat.size - start]
        generator.standard_normal(out=drawn)
        flat[start : start + drawn.size] = drawn
    return noise


def check_noise(noise: Any, frames: int) -> NDArray[np.float32]:
    """Return `noise` after checking that it fits a chunk of `frames` frames.

    Raises InputError unless it is a finite float32 array [1, 600*frames, 9].
    """
    right = f"expected float32 {list(noise_shape(frames))} ([1, 600*frames, 9], frames={frames})"
    if not isinstance(noise, np.ndarray):
        raise InputError(f"noise is {type(noise).__name__}, {right}")
    if noise.dtype != np.float32 or noise.shape != noise_shape(frames):
        raise InputError(f"noise is {noise.dtype} {list(noise.shape)}, {right}")
    if not np.isfinite(noise).all():
        raise InputError(f"noise holds NaN or infinity, {right}, all finite")
    return noise
