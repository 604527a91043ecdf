"""From predicted durations to frames: how long each token lasts, which token each frame shows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kokoro_pipeline.errors import ArtifactError

from ..engine.arrays import Array, aligned_empty


def frames_per_token(duration: Array, speed: float) -> NDArray[np.int64]:
    """Frames of each token, int64 [n], from `duration` float32 [1, n, 50] (after the sigmoid).

    `maximum(rint(duration.sum(-1) / speed), 1)` in float32, halves to even, as the model has it.
    Raises ArtifactError where a duration is no number.
    """
    length = duration[0].sum(-1, dtype=np.float32) / np.float32(speed)
    if not np.isfinite(length).all():
        raise ArtifactError(
            "duration_forward predicted a duration that is no finite number; check the artifact "
            "with: kokoro-pipeline verify DIR, and its weights with: kokoro-pipeline validate DIR"
        )
    return np.maximum(np.rint(length), 1).astype(np.int64)


def token_of_frame(frames: NDArray[np.int64]) -> NDArray[np.int64]:
    """The index of the token that each frame shows, int64 [sum(frames)]."""
    return np.repeat(np.arange(len(frames)), frames)


def spread(features: Array, tokens: NDArray[np.int64]) -> Array:
    """Repeat token columns over frames: `features` [1, c, n] to [1, c, t], column j of the result
    being column `tokens[j]`. The product with kokoro's 0/1 alignment matrix, without the product.
    """
    out = aligned_empty((1, features.shape[1], len(tokens)), features.dtype)
    # mode="clip" writes straight into `out`; `tokens` are in range by construction
    return np.take(features, tokens, axis=2, out=out, mode="clip")
