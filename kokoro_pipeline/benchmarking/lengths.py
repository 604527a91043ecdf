"""Phonemes that last about so many seconds."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import InputError
from ..validation import full_cases

MAX_SECONDS = 600.0


def phonemes_lasting(seconds: float, duration: Callable[[str], float]) -> str:
    """The beginning of a passage of English that lasts closest to `seconds`.

    `duration` tells the seconds of a string of phonemes. The passage is repeated as often as
    needed. Raises InputError for a length that nothing could have.
    """
    if not 0 < seconds <= MAX_SECONDS:  # false for NaN
        raise InputError(f"{seconds:g} s of audio: lengths are above 0 and up to {MAX_SECONDS:g} s")
    passage = max((case.phonemes for case in full_cases()), key=len) + " "
    durations: dict[int, float] = {}

    def lasts(count: int) -> float:
        if count not in durations:
            durations[count] = duration(_beginning(passage, count))
        return durations[count]

    few, many = 1, 2
    while lasts(many) < seconds:
        few, many = many, 2 * many
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if lasts(middle) < seconds else (few, middle)
    best = min((few, many), key=lambda count: abs(lasts(count) - seconds))
    return _beginning(passage, best)


def _beginning(passage: str, count: int) -> str:
    return (passage * (count // len(passage) + 1))[:count]
