"""A sentence while it is tagged, and the words around one of its words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from .kinds import SUBJECTS, Kind, Tagged

#: Adverbs behind a verb that are adjectives elsewhere: "the tools that we use daily".
_FREQUENCIES = frozenset(("hourly", "daily", "nightly", "weekly", "monthly", "yearly", "annually"))
_CLAUSE_MARKS = frozenset(",;:—")


@dataclass(frozen=True)
class Vocabulary:
    """What the tagger is told of the lexicon."""

    heteronyms: frozenset[str]
    """The lower-case words whose pronunciation depends on the tag."""
    adjectival: frozenset[str]
    """Those among them that sound different as adjectives."""
    known: Callable[[str], bool]
    """Whether a lower-case word is an ordinary one: then capitals are emphasis, not an acronym."""


class Context:
    """The words of a sentence, what each is taken alone, and what those so far have become.

    Beyond the ends of the sentence are empty words of the kind START.
    """

    def __init__(self, words: Sequence[str], vocabulary: Vocabulary) -> None:
        self.words = words
        self.lower = [word.lower() for word in words]
        self.vocabulary = vocabulary
        self.forms: list[Tagged] = []
        """What each word is taken alone."""
        self.kinds: list[Kind] = []
        """What the words before the one in question have become."""

    def word(self, i: int) -> str:
        """Word `i` in small letters."""
        return self.lower[i] if 0 <= i < len(self.lower) else ""

    def form(self, i: int) -> Tagged:
        """What word `i` is taken alone."""
        return self.forms[i] if 0 <= i < len(self.forms) else (Kind.START, "")

    def kind(self, i: int) -> Kind:
        """What the earlier word `i` has become."""
        return self.kinds[i] if i >= 0 else Kind.START

    def next_kind(self, i: int) -> Kind:
        return self.form(i + 1)[0]

    def kinds_ahead(self, i: int) -> list[Kind]:
        """What the words from `i` to the next mark are taken alone; an open past form is PAST."""
        ahead = []
        for word, (kind, tag) in zip(self.lower[i:], self.forms[i:], strict=True):
            if word in _CLAUSE_MARKS:
                break
            ahead.append(Kind.PAST if (kind, tag) == (Kind.OPEN, "past") else kind)
        return ahead

    def skip_back(self, i: int, kinds: Collection[Kind]) -> int:
        """Index of the last word up to `i` that is of none of the kinds, or less than 0."""
        while self.kind(i) in kinds:
            i -= 1
        return i

    def previous(self, i: int) -> int:
        """Index of the nearest earlier word that is not an adverb, or -1."""
        i -= 1
        while i >= 0 and (
            (self.kinds[i] is Kind.ADVERB and self.lower[i] != "please")
            or (self.lower[i] in _FREQUENCIES and self.kind(i - 1) is Kind.VERB)
            or (self.lower[i] in ("last", "first", "next") and self.kind(i - 1) in SUBJECTS)
            or self.lower[i - 1 : i + 1] == ["no", "longer"]
            or self.lower[i : i + 2] == ["no", "longer"]
        ):
            i -= 1
        return i

    def clause(self, i: int) -> list[str]:
        """The words between the marks around word `i`."""
        start = next((j + 1 for j in range(i, -1, -1) if self.lower[j] in _CLAUSE_MARKS), 0)
        marks = (j for j in range(i, len(self.lower)) if self.lower[j] in _CLAUSE_MARKS)
        return self.lower[start : next(marks, len(self.lower))]
