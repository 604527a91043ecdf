"""What is to be said: a request, checked before anything is loaded, downloaded or built."""

from __future__ import annotations

import functools
import math
import numbers
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from kokoro_pipeline.errors import InputError

from ..engine.arrays import Array
from ..text.arguments import check_lexicon_argument, check_text
from ..text.languages import find_language, language_of_voice
from ..text.lexicon import Lexicon
from ..text.ssml import Ssml, parse_ssml
from ..voices import check_voice
from .noise import check_seed
from .pieces import (
    First,
    Item,
    Piece,
    Split,
    Splitting,
    group_sentences,
    sentences_of_phonemes,
)

MIN_SPEED = 0.1
MAX_SPEED = 10.0
LONGEST_PAUSE = 60_000.0
"""Milliseconds."""

DEFAULT_LANGUAGE = "en-us"

Voice = str | os.PathLike[str] | Array


@dataclass(frozen=True)
class SpeechRequest:
    """A checked request: a text or phonemes, and how to speak them; see `Synthesizer.stream`.

    Whether a voice of that name exists is known to the artifact, which is asked later.
    """

    text: str | Iterable[str] | None = None
    phonemes: str | None = None
    voice: Voice = "af_heart"
    lang: str | None = None
    """As given; the language that is spoken is `language`."""
    speed: float = 1.0
    seed: int = 0
    splitting: Splitting = field(default_factory=Splitting)
    lexicon: Lexicon | None = None
    ssml: bool = False
    """Whether the text is an SSML document."""

    def __post_init__(self) -> None:
        """Raises InputError for what cannot be spoken and for arguments out of range."""
        if (self.text is None) == (self.phonemes is None):
            raise InputError("give either a text or phonemes")
        if self.phonemes is not None:
            check_phonemes(self.phonemes)
        else:
            check_text(self.text)
        object.__setattr__(self, "speed", check_speed(self.speed))
        object.__setattr__(self, "seed", check_seed(self.seed))
        check_voice(self.voice)
        if self.lang is not None:
            find_language(self.lang)
        _check_splitting(self.splitting)
        check_lexicon_argument(self.lexicon)
        if self.ssml and not isinstance(self.text, str):
            raise InputError("an SSML document is given as one string")

    @functools.cached_property
    def document(self) -> Ssml:
        """The text as an SSML document. Raises InputError with the line of a mistake."""
        assert isinstance(self.text, str)
        return parse_ssml(self.text, self.language)

    @property
    def ignored(self) -> tuple[str, ...]:
        """Markup of the document that changes nothing, with its lines."""
        if not self.ssml:
            return ()
        return tuple(f"<{each.element}> in line {each.line}" for each in self.document.ignored)

    @property
    def language(self) -> str:
        """The code of the language: the given one, or else that of the voice."""
        if self.lang is not None:
            return find_language(self.lang).code
        named = language_of_voice(self.voice) if isinstance(self.voice, str) else None
        return named.code if named else DEFAULT_LANGUAGE

    def pieces(self) -> Iterator[Piece]:
        """The pieces of the text, each read when it is asked for.

        Raises EnvironmentFault if the extra of the language is not installed, and InputError at the
        end of a text with nothing to say.
        """
        return group_sentences(self._items(), self.splitting)

    def _items(self) -> Iterable[Item]:
        if self.phonemes is not None:
            return sentences_of_phonemes(self.phonemes)
        # Imported lazily, since synthesis from phonemes does not need its packages.
        from ..text.phonemize import read_runs, read_text

        assert self.text is not None
        if self.ssml:
            return read_runs(self.document.runs, self.document.source, lexicon=self.lexicon)
        return read_text(self.text, self.language, lexicon=self.lexicon)


def splitting_of(
    split: Split, first: First, pause_sentence: float, pause_paragraph: float
) -> Splitting:
    """The checked options of that name; see `Synthesizer.stream`. Raises InputError."""
    splitting = Splitting(split, first, pause_sentence, pause_paragraph)
    _check_splitting(splitting)
    return splitting


def _check_splitting(splitting: Splitting) -> None:
    for name, value, known in (
        ("split", splitting.split, get_args(Split)),
        ("first", splitting.first, get_args(First)),
    ):
        if value not in known:
            raise InputError(f"{name} is {value!r}, expected one of {', '.join(known)}")
    for name, pause in (
        ("pause_sentence", splitting.pause_sentence),
        ("pause_paragraph", splitting.pause_paragraph),
    ):
        number = float(pause) if isinstance(pause, numbers.Real) else math.nan
        if not 0 <= number <= LONGEST_PAUSE:
            raise InputError(
                f"{name} is {pause!r}, expected milliseconds from 0 to {LONGEST_PAUSE:g}"
            )


def check_phonemes(phonemes: Any) -> None:
    """Raises InputError unless it is a string that is not blank."""
    if not isinstance(phonemes, str):
        raise InputError(f"phonemes is {type(phonemes).__name__}, expected a string")
    if not phonemes.strip():
        raise InputError("there is nothing to say: the phonemes are empty")


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
