"""The sample rates that the formats take."""

from __future__ import annotations

import operator
from typing import SupportsIndex

from kokoro_pipeline.errors import InputError

_LARGEST = (1 << 30) - 1
"""The bytes of a second, 4 for a sample, fit into the 32 bits that a WAV header has for them."""

_MPEG = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)
RATES: dict[str, range | tuple[int, ...]] = {
    "wav": range(1, _LARGEST + 1),
    "pcm": range(1, _LARGEST + 1),
    "flac": range(1, 655_350 + 1),
    "mp3": _MPEG,
    "ogg": range(1, 200_000 + 1),
    "opus": (8000, 12000, 16000, 24000, 48000),
    "aac": (7350, *_MPEG, 64000, 88200, 96000),
}
"""By format. libsndfile ends the process for a rate of 0 in Ogg, so that it cannot be asked."""


def check_rate(name: str, rate: object) -> int:
    """A rate in samples per second as an int, if the format `name` takes it.

    Raises InputError, which names the rates of the format, for another rate and for what is no
    whole number.
    """
    known = RATES[name]
    number = operator.index(rate) if isinstance(rate, SupportsIndex) else 0
    if number not in known:
        raise InputError(f"{name} cannot have the sample rate {rate!r}: it takes {_listed(known)}")
    return number


def _listed(known: range | tuple[int, ...]) -> str:
    if isinstance(known, range):
        return f"whole numbers from {known[0]} to {known[-1]}"
    *most, last = map(str, known)
    return f"{', '.join(most)} and {last}"
