"""Text that is rewritten while each character remembers what part of the original it stands for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import commonprefix
from typing import NamedTuple

Span = tuple[int, int]


class Piece(NamedTuple):
    """A part of a replacement: words, and the part of the searched text that they replace.

    What lies in a match between its pieces is kept.
    """

    text: str
    start: int
    end: int


Replacement = str | Sequence[Piece]
"""What takes the place of a match: a string for all of it, or pieces of it in order."""


@dataclass(frozen=True)
class Tracked:
    """A text and, for each of its characters, the span of the original that it stands for.

    Edits return a new text. Characters that an edit leaves as they are keep their spans. The others
    get the span of what was replaced, so that "three dollars", read from "$3", has the span of "$3"
    at each character. What is inserted has an empty span.
    """

    text: str
    spans: Sequence[Span]

    @classmethod
    def of(cls, text: str) -> Tracked:
        """An original, each of whose characters stands for itself."""
        return cls(text, [(i, i + 1) for i in range(len(text))])

    @classmethod
    def joined(cls, parts: Iterable[Tracked]) -> Tracked:
        """The parts behind one another. Adding them one by one would take quadratic time."""
        held = list(parts)
        return cls("".join(part.text for part in held), [s for part in held for s in part.spans])

    def __len__(self) -> int:
        return len(self.text)

    def __getitem__(self, part: slice) -> Tracked:
        return Tracked(self.text[part], self.spans[part])

    def __add__(self, other: Tracked) -> Tracked:
        return Tracked(self.text + other.text, [*self.spans, *other.spans])

    def span(self, start: int, end: int) -> Span:
        """The span of the original that the characters from `start` to `end` stand for.

        It is empty if there are none: at the end of what the character before stands for.
        """
        if part := self.spans[start:end]:
            return min(first for first, _ in part), max(last for _, last in part)
        position = self.spans[start - 1][1] if start else self.spans[0][0] if self.spans else 0
        return position, position

    def within(self, outer: Tracked) -> Tracked:
        """The same text with the spans of `outer`, whose text it is a rewriting of."""
        return Tracked(self.text, [outer.span(start, end) for start, end in self.spans])

    def followed_by(self, text: str) -> Tracked:
        """The text with an insertion at its end."""
        return self + Tracked(text, [self.span(len(self), len(self))] * len(text))

    def edit(self, edits: Iterable[tuple[int, int, str]]) -> Tracked:
        """The text with another one from each `start` to `end`, in order and without overlap.

        What is put in stands for all that it replaces.
        """
        result = _Builder(self)
        for start, end, new in edits:
            result.keep(start)
            result.replace(start, end, new)
        return result.finish()

    def sub(
        self, pattern: re.Pattern[str], replacement: str | Callable[[re.Match[str]], Replacement]
    ) -> Tracked:
        """Replace each match, as `pattern.sub` does; a callable can return pieces as well.

        What a match and its replacement both begin or end with keeps its spans.
        """
        result = _Builder(self)
        for match in pattern.finditer(self.text):
            result.keep(match.start())
            new = match.expand(replacement) if isinstance(replacement, str) else replacement(match)
            pieces = [Piece(new, *match.span())] if isinstance(new, str) else new
            for piece in pieces:
                result.keep(piece.start)
                old = match.string[piece.start : piece.end]
                head = len(commonprefix((old, piece.text)))
                tail = len(commonprefix((old[head:][::-1], piece.text[head:][::-1])))
                inner = piece.text[head : len(piece.text) - tail]
                result.keep(piece.start + head)
                result.replace(piece.start + head, piece.end - tail, inner)
                result.keep(piece.end)
            result.keep(match.end())
        return result.finish()

    def translate(self, table: Mapping[str, str]) -> Tracked:
        """The text with single characters replaced."""
        return self.edit(
            (i, i + 1, table[character])
            for i, character in enumerate(self.text)
            if character in table
        )

    def split(self, pattern: re.Pattern[str]) -> Iterator[Tracked]:
        """The parts between the matches, as `pattern.split` gives them."""
        start = 0
        for match in pattern.finditer(self.text):
            yield self[start : match.start()]
            start = match.end()
        yield self[start:]

    def strip(self) -> Tracked:
        """The text without white space at its ends."""
        start = len(self.text) - len(self.text.lstrip())
        return self[start : max(start, len(self.text.rstrip()))]

    def composed(self) -> Tracked:
        """The text in Unicode's normal form NFC, so far as letters with their accents go."""
        if unicodedata.is_normalized("NFC", self.text):
            return self
        return self.sub(_ACCENTED, lambda match: unicodedata.normalize("NFC", match[0]))


# A character and the marks of the combining blocks on it.
_ACCENTED = re.compile("[^\u0300-\u036f][\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff]+|[^\x00-\u02ff]")


class _Builder:
    """The result of an edit, as far as it is made."""

    def __init__(self, old: Tracked) -> None:
        self._old = old
        self._parts: list[str] = []
        self._spans: list[Span] = []
        self.position = 0
        """The end of what is already dealt with, in the old text."""

    def keep(self, end: int) -> None:
        """Take over the characters before `end`."""
        old, start = self._old, self.position
        if start < end:
            self._parts.append(old.text[start:end])
            self._spans += old.spans[start:end]
            self.position = end

    def replace(self, start: int, end: int, new: str) -> None:
        """Put `new` in the place of a part that begins where the kept ones end."""
        self._parts.append(new)
        self._spans += [self._old.span(start, end)] * len(new)
        self.position = end

    def finish(self) -> Tracked:
        """The old text with all edits."""
        if not self.position and not self._parts:
            return self._old
        self.keep(len(self._old))
        return Tracked("".join(self._parts), self._spans)
