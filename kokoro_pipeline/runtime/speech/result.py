"""The result of a synthesis."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kokoro_pipeline.config import SAMPLE_RATE

from ..text.vocabulary import UnknownSymbol


class UnknownSymbolWarning(UserWarning):
    """Some phonemes are not in the model's vocabulary and were not spoken."""


class UnspokenTextWarning(UserWarning):
    """Parts of the text have no phonemes and were not spoken."""


class Span(NamedTuple):
    """A half-open interval: `start` is included, `end` is not."""

    start: int
    end: int


@dataclass(frozen=True)
class ChunkSpans:
    """The position of a chunk in the whole utterance."""

    phonemes: Span
    """Characters of `Speech.phonemes`."""
    tokens: Span
    """Elements of `Speech.durations`: the tokens of the chunk and its two boundary tokens."""
    samples: Span
    """Elements of `Speech.audio`."""


@dataclass(frozen=True, eq=False)
class Speech:
    """Synthesized speech and the inputs it was made from."""

    audio: NDArray[np.float32] = field(repr=False)
    """float32 [600 * frames], mono, `sample_rate` samples per second, values about -1 to 1."""
    durations: NDArray[np.int64] = field(repr=False)
    """int64 [tokens + 2 * chunks]: frames (600 samples) of each token, with boundary tokens."""
    phonemes: str
    """The complete phoneme input."""
    chunks: tuple[ChunkSpans, ...]
    """The chunks of at most 510 phonemes each, in order and without gaps."""
    unknown: tuple[UnknownSymbol, ...]
    """Symbols of `phonemes` that are not in the model's vocabulary and were not spoken."""
    voice: str
    """The name or path of the voice; "array" if it was given as an array."""
    speed: float
    seed: int | None
    """None if the noise was given instead."""
    synthetic: bool
    """True if the artifact was built from synthetic weights: the audio is then not speech."""
    unspoken: tuple[str, ...] = ()
    """Parts of the text without phonemes (emoji, other scripts); empty for phoneme input."""
    sample_rate: int = SAMPLE_RATE

    @property
    def seconds(self) -> float:
        """Length of the audio in seconds."""
        return len(self.audio) / self.sample_rate
