"""What a synthesis gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kokoro_pipeline.config import SAMPLE_RATE

from ..text.vocabulary import UnknownSymbol


class UnknownSymbolWarning(UserWarning):
    """Some phonemes are not in the model's vocabulary and were left unspoken."""


class UnspokenTextWarning(UserWarning):
    """Some of the text has no phonemes and was left unspoken."""


class Span(NamedTuple):
    """Half-open: from `start` up to, not including, `end`."""

    start: int
    end: int


@dataclass(frozen=True)
class ChunkSpans:
    """Where one chunk lies in the whole utterance."""

    phonemes: Span
    """Characters of `Speech.phonemes`."""
    tokens: Span
    """Elements of `Speech.durations`: the chunk's tokens and its two boundary tokens."""
    samples: Span
    """Elements of `Speech.audio`."""


@dataclass(frozen=True, eq=False)
class Speech:
    """Synthesized speech, and what it was made from."""

    audio: NDArray[np.float32] = field(repr=False)
    """float32 [600 * frames], mono, `sample_rate` samples a second, about -1 to 1."""
    durations: NDArray[np.int64] = field(repr=False)
    """int64 [tokens + 2 * chunks]: frames (600 samples) of each token, boundary tokens included."""
    phonemes: str
    """The input, every character of it."""
    chunks: tuple[ChunkSpans, ...]
    """One for each piece of at most 510 phonemes, in order and without gaps."""
    unknown: tuple[UnknownSymbol, ...]
    """Symbols of `phonemes` that the model does not know; nothing was spoken for them."""
    voice: str
    """The voice's name or path; "array" for one given as numbers."""
    speed: float
    seed: int | None
    """None where the noise was given."""
    synthetic: bool
    """True where the artifact's weights are the random stand-in: the audio is no speech."""
    unspoken: tuple[str, ...] = ()
    """Pieces of the text that have no phonemes (emoji, other scripts); empty for phoneme input."""
    sample_rate: int = SAMPLE_RATE

    @property
    def seconds(self) -> float:
        """Length of the audio."""
        return len(self.audio) / self.sample_rate
