"""What a marked-up text consists of: text to speak in some manner, pauses and marks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .reading import Sentence
from .tracked import Tracked


@dataclass(frozen=True)
class Manner:
    """How text is spoken."""

    lang: str
    """The code of a known language."""
    voice: str | None = None
    """The name of a voice; None is the one of the request."""
    speed: float = 1.0
    """A factor on the speed of the request."""


@dataclass(frozen=True)
class Mark:
    """A named place in a text."""

    name: str
    at: int
    """Its position in the source, in code points."""


@dataclass(frozen=True)
class Pause:
    """Silence."""

    seconds: float
    start: int
    """Where it is written: code points of the source."""
    end: int


@dataclass(frozen=True)
class TextRun:
    """Text in one manner, from one sentence or paragraph of the markup.

    Given phonemes are written into the text as `[word](/phonemes/)`.
    """

    text: Tracked
    """Its spans are positions in the source."""
    manner: Manner
    marks: tuple[Mark, ...] = ()
    """Marks inside, in order; their positions are those of the source."""
    ends: Literal["nothing", "sentence", "paragraph"] = "nothing"
    """What ends behind it."""


Run = TextRun | Pause | Mark


@dataclass(frozen=True)
class PlacedMark:
    """A mark inside a sentence."""

    name: str
    offset: int
    """The position in the sentence's phonemes of the first word behind it."""


@dataclass(frozen=True)
class Said:
    """A sentence, how it is spoken, and the marks in it."""

    sentence: Sentence
    """Positions of its words are those of the source."""
    manner: Manner
    marks: tuple[PlacedMark, ...] = ()
