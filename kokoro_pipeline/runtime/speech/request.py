"""What is to be said: a request, checked before anything is loaded, downloaded or built."""

from __future__ import annotations

import math
import numbers
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kokoro_pipeline.errors import InputError

from ..engine.arrays import Array
from ..voices import check_voice
from .noise import check_seed
from .result import UnspokenTextWarning

MIN_SPEED = 0.1
MAX_SPEED = 10.0

Voice = str | os.PathLike[str] | Array


@dataclass(frozen=True)
class SpeechRequest:
    """A checked request: phonemes, voice, speed and seed, as `Synthesizer.synthesize` has them.

    Whether a voice of that name exists is known to the artifact, which is asked later.
    """

    phonemes: str
    voice: Voice = "af_heart"
    speed: float = 1.0
    seed: int = 0
    unspoken: tuple[str, ...] = ()
    """Parts of the text that have no phonemes."""

    def __post_init__(self) -> None:
        """Raises InputError for what cannot be spoken and for arguments out of range."""
        if not isinstance(self.phonemes, str):
            raise InputError(f"phonemes is {type(self.phonemes).__name__}, expected a string")
        object.__setattr__(self, "speed", check_speed(self.speed))
        if not self.phonemes.strip():
            raise InputError("there is nothing to say: the phonemes are empty")
        object.__setattr__(self, "seed", check_seed(self.seed))
        check_voice(self.voice)


def request_of_text(
    text: str,
    voice: Voice = "af_heart",
    lang: str = "en-us",
    speed: float = 1.0,
    seed: int = 0,
    *,
    stacklevel: int = 2,
) -> SpeechRequest:
    """The request for a text, whose phonemes are found here.

    Parts without phonemes are not spoken: an UnspokenTextWarning, at `stacklevel`, lists them.

    Raises EnvironmentFault if the `text` extra is not installed, and InputError for an unsupported
    language, a text with nothing to say, and other arguments out of range.
    """
    # Imported lazily, since synthesis from phonemes does not need its packages.
    from ..text.phonemize import phonemize

    if not isinstance(text, str):
        raise InputError(f"text is {type(text).__name__}, expected a string")
    check_speed(speed)  # phonemizing takes longer
    read = phonemize(text, lang)
    if read.unspoken:
        message = f"left unspoken, for it has no phonemes: {excerpt(read.unspoken)}"
        warnings.warn(UnspokenTextWarning(message), stacklevel=stacklevel)
    return SpeechRequest(read.phonemes, voice, speed, seed, read.unspoken)


def check_speed(speed: Any) -> float:
    """Return `speed` as a float. Raises InputError unless it is a number from 0.1 to 10."""
    number = float(speed) if isinstance(speed, numbers.Real) else math.nan
    if not MIN_SPEED <= number <= MAX_SPEED:  # false for NaN
        raise InputError(
            f"speed is {speed!r}, expected a number from {MIN_SPEED:g} to {MAX_SPEED:g}"
        )
    return number


def excerpt(items: Sequence[object]) -> str:
    """The first five items, and how many more there are."""
    rest = f" and {len(items) - 5} more" if len(items) > 5 else ""
    return ", ".join(str(item) for item in items[:5]) + rest
