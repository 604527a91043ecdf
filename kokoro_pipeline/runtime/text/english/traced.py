"""A string that knows, for each of its characters, which part of the source text it stands for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from os.path import commonprefix
from typing import NamedTuple


class Piece(NamedTuple):
    """A part of a replacement: words, and the part of the searched string that they replace.

    What lies in a match between its pieces is kept.
    """

    text: str
    start: int
    end: int


Replacement = str | Sequence[Piece]
"""What takes the place of a match: a string for all of it, or pieces of it in order."""


class Traced:
    """A string with the span of the source that each character came from.

    Edits return a new string. Characters that an edit leaves as they are keep their spans. The
    others get the span of what was replaced, so that "three dollars", read from "$3", has the span
    of "$3" at each character. What is inserted has an empty span. The spans are in order: neither
    their starts nor their ends decrease.
    """

    __slots__ = ("_ends", "_starts", "text")

    def __init__(self, text: str, starts: list[int], ends: list[int]) -> None:
        self.text = text
        self._starts = starts
        self._ends = ends

    @classmethod
    def source(cls, text: str) -> Traced:
        """A source text, each of whose characters stands for itself."""
        return cls(text, list(range(len(text))), list(range(1, len(text) + 1)))

    def __len__(self) -> int:
        return len(self.text)

    def __repr__(self) -> str:
        return f"Traced({self.text!r})"

    def __getitem__(self, part: slice) -> Traced:
        """A part without a step."""
        return Traced(self.text[part], self._starts[part], self._ends[part])

    def __add__(self, text: str) -> Traced:
        """The string with inserted text at its end."""
        _, end = self.span(len(self), len(self))
        count = len(text)
        return Traced(self.text + text, self._starts + [end] * count, self._ends + [end] * count)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The span of the source that the characters from `start` to `end` stand for.

        It is empty if there are none: at the end of what the character before stands for.
        """
        if start < end:
            return self._starts[start], self._ends[end - 1]
        position = self._ends[start - 1] if start else self._starts[0] if self._starts else 0
        return position, position

    def sub(
        self, pattern: re.Pattern[str], replacement: str | Callable[[re.Match[str]], Replacement]
    ) -> Traced:
        """Replace each match, as `pattern.sub` does; a callable can return pieces as well."""
        result = _Builder(self)
        for match in pattern.finditer(self.text):
            result.keep(match.start())
            new = match.expand(replacement) if isinstance(replacement, str) else replacement(match)
            if isinstance(new, str):
                result.replace(match.start(), match.end(), new)
            else:
                for piece in new:
                    result.keep(piece.start)
                    result.replace(piece.start, piece.end, piece.text)
            result.keep(match.end())
        return result.finish()

    def split(self, pattern: re.Pattern[str]) -> Iterator[Traced]:
        """The parts between the matches, as `pattern.split` gives them."""
        start = 0
        for match in pattern.finditer(self.text):
            yield self[start : match.start()]
            start = match.end()
        yield self[start:]

    def strip(self) -> Traced:
        """The string without white space at its ends."""
        start = len(self.text) - len(self.text.lstrip())
        return self[start : max(start, len(self.text.rstrip()))]

    def composed(self) -> Traced:
        """The string in Unicode's normal form NFC, so far as letters with their accents go."""
        if unicodedata.is_normalized("NFC", self.text):
            return self
        return self.sub(_ACCENTED, lambda match: unicodedata.normalize("NFC", match[0]))


# A character and the marks of the combining blocks on it.
_ACCENTED = re.compile("[^\u0300-\u036f][\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff]+|[^\x00-\u02ff]")


class _Builder:
    """The result of an edit, as far as it is made."""

    def __init__(self, old: Traced) -> None:
        self._old = old
        self._parts: list[str] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        self.position = 0
        """The end of what is already dealt with, in the old string."""

    def keep(self, end: int) -> None:
        """Take over the characters before `end`."""
        old, start = self._old, self.position
        if start < end:
            self._parts.append(old.text[start:end])
            self._starts += old._starts[start:end]
            self._ends += old._ends[start:end]
            self.position = end

    def replace(self, start: int, end: int, new: str) -> None:
        """Put `new` in the place of a part; what both begin or end with keeps its spans."""
        old = self._old.text[start:end]
        head = len(commonprefix((old, new)))
        tail = len(commonprefix((old[head:][::-1], new[head:][::-1])))
        self.position = start
        self.keep(start + head)
        first, last = self._old.span(start + head, end - tail)
        inner = new[head : len(new) - tail]
        self._parts.append(inner)
        self._starts += [first] * len(inner)
        self._ends += [last] * len(inner)
        self.position = end - tail
        self.keep(end)

    def finish(self) -> Traced:
        """The old string with all edits."""
        if not self.position and not self._parts:
            return self._old
        self.keep(len(self._old))
        return Traced("".join(self._parts), self._starts, self._ends)
