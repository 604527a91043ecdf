"""A word in its sentence, and what is near it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..tables import word_sets

NEAR = word_sets("homographs")
"""The lists of words that tell a sense."""
SUBJECTS = ("i", "he", "she", "it", "we", "they", "you", "who")
PHRASE_ENDS = (".", ",", ":", "CC", "VBZ", "VBD", "MD")
NOWHERE = 1000
Sounds = tuple[str, str]
"""American and British phonemes."""


class Place(NamedTuple):
    """A word in its sentence: the lower-case tokens, their Penn tags, and its index."""

    words: Sequence[str]
    tags: Sequence[str]
    i: int
    capital: bool
    """Whether it is written with a capital."""

    def at(self, distance: int) -> str:
        """The word so far away, or nothing beyond the sentence."""
        index = self.i + distance
        return self.words[index] if 0 <= index < len(self.words) else ""

    def tag(self, distance: int) -> str:
        """The tag of the word so far away, or nothing beyond the sentence."""
        index = self.i + distance
        return self.tags[index] if 0 <= index < len(self.tags) else ""

    def before(self, count: int) -> Sequence[str]:
        """The words before it."""
        return self.words[max(0, self.i - count) : self.i]

    def distance(self, name: str) -> int:
        """How far away the nearest word of the list is; a large number if there is none."""
        near = NEAR[name]
        words = ((j, word.removesuffix("'s")) for j, word in enumerate(self.words))
        found = (abs(j - self.i) for j, word in words if word in near)
        return min((d for d in found if d), default=NOWHERE)

    @property
    def finite_alone(self) -> bool:
        """Whether no other word before the next mark or conjunction and after the last is a verb
        with a subject."""
        stops = (",", ".", ":", "CC", "IN", "WRB")
        start = next((j for j in range(self.i, 0, -1) if self.tags[j] in stops), 0)
        ends = (",", ".", ":", "CC")
        end = next((j for j in range(self.i, len(self.tags)) if self.tags[j] in ends), None)
        rest = (*self.tags[start : self.i], *self.tags[self.i + 1 : end])
        return not {"VBD", "VBZ", "VBP", "MD", "VB"}.intersection(rest)

    @property
    def noun(self) -> bool:
        return self.tags[self.i].startswith("NN")


Choose = Callable[[Place], Sounds | None]
"""The phonemes that a place demands, or None where those of the part of speech hold."""
