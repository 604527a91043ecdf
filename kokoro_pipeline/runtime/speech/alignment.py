"""From predicted durations to frames: the length of each token, and the token of each frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kokoro_pipeline.errors import ArtifactError

from ..engine.arrays import Array, aligned_empty


def frames_per_token(duration: Array, speed: float) -> NDArray[np.int64]:
    """Frames of each token, int64 [n], from `duration` float32 [1, n, 50] (after the sigmoid).

    This is `maximum(rint(duration.sum(-1) / speed), 1)` in float32 with halves rounded to even, as
    in the model.

    Raises ArtifactError if a duration is not finite.
    """
    length = duration[0].sum(-1, dtype=np.float32) / np.float32(speed)
    if not np.isfinite(length).all():
        raise ArtifactError(
            "duration_forward predicted a duration that is not finite; check the artifact "
            "with: kokoro-pipeline verify DIR, and its weights with: kokoro-pipeline validate DIR"
        )
    return np.maximum(np.rint(length), 1).astype(np.int64)


def token_of_frame(frames: NDArray[np.int64]) -> NDArray[np.int64]:
    """The index of the token that each frame belongs to, int64 [sum(frames)]."""
    return np.repeat(np.arange(len(frames)), frames)


def spread(features: Array, tokens: NDArray[np.int64]) -> Array:
    """Repeat token columns over frames: `features` [1, c, n] to [1, c, t].

    Column j of the result is column `tokens[j]`. This is kokoro's product with a 0/1 alignment
    matrix, computed by indexing.
    """
    out = aligned_empty((1, features.shape[1], len(tokens)), features.dtype)
    # mode="clip" makes numpy write directly into `out`; `tokens` are in range by construction.
    return np.take(features, tokens, axis=2, out=out, mode="clip")
