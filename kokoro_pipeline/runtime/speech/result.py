"""The result of a synthesis."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from kokoro_pipeline.config import SAMPLE_RATE

from ..text.reading import Word
from ..text.vocabulary import UnknownSymbol
from .spans import ChunkSpans
from .timings import MarkTime, PhonemeTime, WordTime, phoneme_times, word_times


class UnknownSymbolWarning(UserWarning):
    """Some phonemes are not in the model's vocabulary and were not spoken."""


class UnspokenTextWarning(UserWarning):
    """Parts of the text have no phonemes and were not spoken."""


class IgnoredMarkupWarning(UserWarning):
    """Elements of an SSML document change nothing."""


@dataclass(frozen=True, eq=False)
class Speech:
    """Synthesized speech and the inputs it was made from."""

    audio: NDArray[np.float32] = field(repr=False)
    """float32 [samples], mono, `sample_rate` samples per second, values about -1 to 1.

    600 samples a frame, in the order of `chunks`, and zeros where a pause was asked for.
    """
    durations: NDArray[np.int64] = field(repr=False)
    """int64 [tokens + 2 * chunks]: frames (600 samples) of each token, with boundary tokens."""
    phonemes: str
    """The complete phoneme input."""
    chunks: tuple[ChunkSpans, ...]
    """The chunks of at most 510 phonemes each, in order.

    Pieces of a text are chunks of their own: between them are a space of `phonemes`, which is not
    spoken, and the samples of a pause.
    """
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
    read: tuple[Word, ...] = field(default=(), repr=False)
    """The words and marks of the text with their phonemes; empty for phoneme input."""
    marks: tuple[MarkTime, ...] = ()
    """The marks of an SSML document and when they are reached."""

    @functools.cached_property
    def words(self) -> tuple[WordTime, ...]:
        """The words of the text as they are written, with their times; empty for phoneme input."""
        return word_times(self, self.read)

    @functools.cached_property
    def phoneme_times(self) -> tuple[PhonemeTime, ...]:
        """The phonemes that were spoken, with their times."""
        return phoneme_times(self)

    @property
    def seconds(self) -> float:
        """Length of the audio in seconds."""
        return len(self.audio) / self.sample_rate


def outline(speech: Speech) -> Speech:
    """The speech without its samples: `audio` has the same length, and takes no memory."""
    return replace(speech, audio=_zeros(len(speech.audio)))


def _zeros(length: int) -> NDArray[np.float32]:
    return np.broadcast_to(np.float32(0), (length,))


def join_speech(pieces: Sequence[Speech], *, samples: bool = True) -> Speech:
    """The pieces of one text as a whole. There must be at least one.

    Without `samples`, it is the outline of the whole.
    """
    if len(pieces) == 1:
        return pieces[0] if samples else outline(pieces[0])
    chunks: list[ChunkSpans] = []
    unknown: list[UnknownSymbol] = []
    read: list[Word] = []
    marks: list[MarkTime] = []
    phonemes = tokens = length = 0
    for piece in pieces:
        chunks += (chunk.moved(phonemes, tokens, length) for chunk in piece.chunks)
        unknown += (replace(u, position=u.position + phonemes) for u in piece.unknown)
        read += (word.moved(0, phonemes) for word in piece.read)
        passed = length / piece.sample_rate
        marks += (mark._replace(time=mark.time + passed) for mark in piece.marks)
        phonemes += len(piece.phonemes) + 1
        tokens += len(piece.durations)
        length += len(piece.audio)
    return replace(
        pieces[0],
        audio=np.concatenate([p.audio for p in pieces]) if samples else _zeros(length),
        durations=np.concatenate([piece.durations for piece in pieces]),
        phonemes=" ".join(piece.phonemes for piece in pieces).rstrip(),
        chunks=tuple(chunks),
        unknown=tuple(unknown),
        unspoken=tuple(part for piece in pieces for part in piece.unspoken),
        read=tuple(read),
        marks=tuple(marks),
    )
