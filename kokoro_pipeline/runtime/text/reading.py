"""What reading a text gives, in any language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Word(NamedTuple):
    """A word or punctuation mark as it is written, with its phonemes.

    What is written as one and spoken as several words ("$3.50") is one entry, whose phonemes have
    spaces.
    """

    text: str
    phonemes: str
    """Empty if the word is not spoken."""
    start: int
    """Where it is written: code points of the input text."""
    end: int
    offset: int
    """Where its phonemes begin in the phonemes of the sentence or text that lists the word."""

    def moved(self, written: int, spoken: int) -> Word:
        """The same word in a longer text: `written` and `spoken` are added to its positions."""
        return self._replace(
            start=self.start + written, end=self.end + written, offset=self.offset + spoken
        )


@dataclass(frozen=True)
class Sentence:
    """A sentence with the phonemes that are fed to the model."""

    phonemes: str
    words: tuple[Word, ...]
    """In order, without overlap, neither in the text nor in the phonemes."""
    unspoken: tuple[str, ...] = ()
    """Parts that have no reading and were left out. `phonemes` may then be empty."""
    ends_paragraph: bool = False
    """Whether a paragraph ends here and another one follows."""


class Reader(Protocol):
    """Reads one language. Readers have no state between calls, so that threads can share them."""

    def read(self, text: str) -> list[Sentence]:
        """The sentences of one segment (`segments.py`), whose words count from its beginning."""
        ...
