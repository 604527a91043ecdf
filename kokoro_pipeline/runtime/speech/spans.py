"""Positions of the parts of an utterance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Span(NamedTuple):
    """A half-open interval: `start` is included, `end` is not."""

    start: int
    end: int

    def moved(self, by: int) -> Span:
        """The interval `by` further on."""
        return Span(self.start + by, self.end + by)


@dataclass(frozen=True)
class ChunkSpans:
    """The position of a chunk in the whole utterance."""

    phonemes: Span
    """Characters of `Speech.phonemes`."""
    tokens: Span
    """Elements of `Speech.durations`: the tokens of the chunk and its two boundary tokens."""
    samples: Span
    """Elements of `Speech.audio`."""
    symbols: tuple[int, ...]
    """The character of `Speech.phonemes` for each token between the two boundary tokens."""

    def moved(self, phonemes: int, tokens: int, samples: int) -> ChunkSpans:
        """The position after so many characters, tokens and samples of other pieces."""
        return ChunkSpans(
            self.phonemes.moved(phonemes),
            self.tokens.moved(tokens),
            self.samples.moved(samples),
            tuple(symbol + phonemes for symbol in self.symbols),
        )
