"""The only random input of the model: the additive noise of the harmonic source.

`noise` is float32 [1, 600 * frames, 9] of standard normals, which kokoro's SineGen draws as
`torch.randn_like(sine_waves)`. The artifact draws it from a key, see `draw_noise`.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kokoro_pipeline.config import N_HARMONICS, SAMPLES_PER_FRAME
from kokoro_pipeline.errors import InputError

if TYPE_CHECKING:
    from .chunk import Functions

NOISE = "noise_forward"
"""The function of an artifact that draws noise."""


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


def noise_key(seed: int, chunk: int) -> NDArray[np.int64]:
    """The key of chunk number `chunk` of an utterance: two words of 32 bits, int64 [2].

    The chunks of an utterance have independent keys, so that the noise of a chunk does not depend
    on the length of other chunks. The native runtime makes the same keys, see docs/native.md.
    """
    words = np.random.SeedSequence(seed, spawn_key=(chunk,)).generate_state(2)
    return words.astype(np.int64)


def draw_noise(functions: Functions, seed: int, chunk: int, frames: int) -> Any:
    """Draw the noise of a chunk, float32 [1, 600*frames, 9], by the artifact's functions.

    It is an array, or stays on the device where the functions' results do.
    """
    return functions[NOISE](np.zeros(frames, np.int64), noise_key(seed, chunk))


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
