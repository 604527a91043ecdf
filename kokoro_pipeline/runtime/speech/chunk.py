"""Synthesis of one chunk of at most 510 phonemes with the six compiled functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_pipeline.config import BOUNDARY_TOKEN, SAMPLES_PER_FRAME, STYLE_DIM
from kokoro_pipeline.errors import ArtifactError, InputError

from ..engine.arrays import Array
from ..engine.functions import MAX_FRAMES, CompiledFunction
from .alignment import frames_per_token, spread, token_of_frame

Functions = Mapping[str, CompiledFunction]

ALIGN = "align_forward"
"""In artifacts for a device, the alignment is a function, so that features stay on the device."""


@dataclass(frozen=True)
class Timing:
    """The length of every token of a chunk, and the features that F0 and N are predicted from."""

    input_ids: NDArray[np.int64]
    """int64 [1, n], including the boundary tokens."""
    frames: NDArray[np.int64]
    """Frames of each token, int64 [n], at least 1 each."""
    d: Any
    """float32 [1, n, 640]: an array, or a `Resident` on a device."""

    @property
    def total_frames(self) -> int:
        """Number of frames of the chunk."""
        return int(self.frames.sum())


def predict_timing(
    functions: Functions, ids: tuple[int, ...], style: Array, speed: float
) -> Timing:
    """Predict the durations of 1 to 510 tokens `ids` in `style` float32 [1, 256] at `speed`.

    Raises InputError if the chunk is too long, ArtifactError if a duration is not finite.
    """
    input_ids = np.array([[BOUNDARY_TOKEN, *ids, BOUNDARY_TOKEN]], np.int64)
    lengths = np.array([input_ids.shape[1]], np.int64)
    d_en = functions["bert_forward"](input_ids, lengths)
    duration, d = functions["duration_forward"](d_en, style[:, STYLE_DIM:], lengths)
    timing = Timing(input_ids, frames_per_token(np.asarray(duration), speed), d)
    return check_frames(timing, speed)


def check_frames(timing: Timing, speed: float) -> Timing:
    """Return `timing` unless the chunk is too long, which raises InputError."""
    if timing.total_frames > MAX_FRAMES:
        raise InputError(
            f"{timing.input_ids.shape[1] - 2} phonemes at speed {speed:g} last "
            f"{timing.total_frames} frames "
            f"({timing.total_frames * SAMPLES_PER_FRAME / 24_000:.0f} s), over the limit of "
            f"{MAX_FRAMES} for one chunk; use a higher speed or synthesize fewer phonemes at once"
        )
    return timing


def render_audio(functions: Functions, timing: Timing, style: Array, noise: Any) -> Any:
    """Render a timed chunk as audio float32 [600*frames], with `noise` float32 [1, 600*frames, 9].

    The noise is an array, or a `Resident` on a device.

    Raises ArtifactError if the audio is not finite.
    """
    lengths = np.array([timing.input_ids.shape[1]], np.int64)
    tokens = token_of_frame(timing.frames)
    t_en = functions["text_encoder_forward"](timing.input_ids, lengths)
    en, asr = _align(functions, timing.d, t_en, tokens)
    f0, energy = functions["f0n_forward"](en, style[:, STYLE_DIM:])
    har = functions["source_forward"](f0, noise)
    audio = functions["decoder_forward"](asr, f0, energy, style[:, :STYLE_DIM], har)
    return finite(audio, "decoder_forward")[0]


def finite(audio: Any, function: str) -> Array:
    """The audio that a function returned as an array. Raises ArtifactError if it is not finite."""
    samples = np.asarray(audio)
    if not np.isfinite(samples).all():
        raise ArtifactError(
            f"{function} returned samples that are not finite; check the artifact with: "
            "kokoro-pipeline verify DIR, and its weights with: kokoro-pipeline validate DIR"
        )
    return samples


def _align(functions: Functions, d: Any, t_en: Any, tokens: NDArray[np.int64]) -> tuple[Any, Any]:
    """`en` [1, 640, t] and `asr` [1, 512, t]: for each frame, the features of its token."""
    if ALIGN in functions:
        en, asr = functions[ALIGN](d, t_en, tokens)
        return en, asr
    return spread(np.swapaxes(d, 1, 2), tokens), spread(t_en, tokens)
