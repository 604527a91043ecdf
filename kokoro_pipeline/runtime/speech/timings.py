"""When each phoneme and each word is spoken, from the durations that the model predicts.

Times follow kokoro's `join_timestamps`: speech is taken to begin three frames before the end of the
boundary token, and the space between two words is divided between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kokoro_pipeline.config import SAMPLES_PER_FRAME

from ..text.reading import Word
from ..text.runs import PlacedMark
from .spans import ChunkSpans

_LEAD = 3
"""Frames of the boundary token that are counted as speech."""


class Spoken(Protocol):
    """What times are computed from; see `Speech`."""

    @property
    def phonemes(self) -> str: ...
    @property
    def durations(self) -> NDArray[np.int64]: ...
    @property
    def chunks(self) -> Sequence[ChunkSpans]: ...
    @property
    def sample_rate(self) -> int: ...


class PhonemeTime(NamedTuple):
    """A phoneme and when it is spoken, in seconds from the beginning of the audio."""

    phoneme: str
    start: float
    end: float


@dataclass(frozen=True)
class WordTime:
    """A word as it is written, and when it is spoken."""

    text: str
    phonemes: str
    start: float
    """Seconds from the beginning of the audio."""
    end: float
    """Seconds. The space after the word is divided between it and the next one."""
    span: tuple[int, int]
    """Where it is written: code points of the input text, the end excluded."""


class MarkTime(NamedTuple):
    """A mark of an SSML document and when it is reached, in seconds."""

    name: str
    time: float


def mark_times(speech: Spoken, marks: Sequence[PlacedMark], end: float) -> tuple[MarkTime, ...]:
    """The times of marks: the start of the word or phoneme at or behind it, or else `end`."""
    times = _times(speech)
    places = sorted(times)
    result = []
    for mark in marks:
        place = next((at for at in places if at >= mark.offset), None)
        time = end if place is None else _start(speech, times, place)
        result.append(MarkTime(mark.name, time))
    return tuple(result)


def phoneme_times(speech: Spoken) -> tuple[PhonemeTime, ...]:
    """The phonemes that were spoken, in order and without overlap; spaces are phonemes, too."""
    times = []
    for position, (start, end) in sorted(_times(speech).items()):
        times.append(PhonemeTime(speech.phonemes[position], start, end))
    return tuple(times)


def word_times(speech: Spoken, words: Sequence[Word]) -> tuple[WordTime, ...]:
    """The times of `words`, without punctuation marks and what was left unspoken."""
    times = _times(speech)
    result = []
    for word in words:
        positions = range(word.offset, word.offset + len(word.phonemes))
        spoken = [position for position in positions if position in times]
        if not any(speech.phonemes[position].isalpha() for position in spoken):
            continue
        start, end = _start(speech, times, spoken[0]), times[spoken[-1]][1]
        after = spoken[-1] + 1
        if after in times and speech.phonemes[after].isspace():
            end = _middle(times[after], end)
        result.append(WordTime(word.text, word.phonemes, start, end, (word.start, word.end)))
    return tuple(result)


def _start(speech: Spoken, times: Mapping[int, tuple[float, float]], position: int) -> float:
    """Where a word begins, given its first phoneme: in the middle of the space before it."""
    start, before = times[position][0], position - 1
    if before in times and speech.phonemes[before].isspace():
        return _middle(times[before], start)
    return start


def _middle(space: tuple[float, float], edge: float) -> float:
    """The middle of a space, or the edge of the word if another chunk holds the space."""
    return (space[0] + space[1]) / 2 if edge in space else edge


def _times(speech: Spoken) -> dict[int, tuple[float, float]]:
    """Start and end in seconds of each phoneme that was spoken, by its position."""
    frame = SAMPLES_PER_FRAME / speech.sample_rate
    times: dict[int, tuple[float, float]] = {}
    for chunk in speech.chunks:
        frames = speech.durations[chunk.tokens.start : chunk.tokens.end].tolist()
        origin = chunk.samples.start / speech.sample_rate
        passed = max(0, frames[0] - _LEAD)
        for position, length in zip(chunk.symbols, frames[1:-1], strict=True):
            times[position] = origin + passed * frame, origin + (passed + length) * frame
            passed += length
    return times
