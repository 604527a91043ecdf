"""What is spoken: phonemes for a given length of audio, and a long text."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import InputError
from ..validation import full_cases

MAX_SECONDS = 600.0
SENTENCE = "The old lighthouse keeper climbed the narrow stairs every evening, slowly. "
LONG_TEXT = SENTENCE * 200
"""2,000 words of plain English."""


def phonemes_lasting(seconds: float, duration: Callable[[str], float]) -> str:
    """The beginning of an English passage whose length is closest to `seconds`.

    `duration` returns the length of a phoneme string in seconds. The passage is repeated if
    necessary. Raises InputError for an impossible length.
    """
    if not 0 < seconds <= MAX_SECONDS:  # false for NaN
        raise InputError(f"{seconds:g} s of audio: lengths are above 0 and up to {MAX_SECONDS:g} s")
    passage = max((case.phonemes for case in full_cases()), key=len) + " "
    durations: dict[int, float] = {}

    def beginning(count: int) -> str:
        return (passage * (count // len(passage) + 1))[:count]

    def lasts(count: int) -> float:
        if count not in durations:
            durations[count] = duration(beginning(count))
        return durations[count]

    few, many = 1, 2
    while lasts(many) < seconds:
        few, many = many, 2 * many
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if lasts(middle) < seconds else (few, middle)
    best = min((few, many), key=lambda count: abs(lasts(count) - seconds))
    return beginning(best)
