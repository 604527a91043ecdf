"""Text that is rewritten while every character remembers where it came from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Tracked:
    """A text and, for each of its characters, the span of the original that it stands for."""

    text: str
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, text: str) -> Tracked:
        """A text that nothing has been changed in yet."""
        return cls(text, tuple((i, i + 1) for i in range(len(text))))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The part of the original that the characters from `start` to `end` stand for."""
        part = self.spans[start:end]
        return min(first for first, _ in part), max(last for _, last in part)

    def __getitem__(self, part: slice) -> Tracked:
        return Tracked(self.text[part], self.spans[part])

    def within(self, outer: Tracked) -> Tracked:
        """The same text with the spans of `outer`, whose text it is a rewriting of."""
        return Tracked(self.text, tuple(outer.span(start, end) for start, end in self.spans))

    def edit(self, edits: Iterable[tuple[int, int, str]]) -> Tracked:
        """The text with other text from each `start` to `end`, in order and without overlap.

        What is put in stands for all that it replaces.
        """
        text: list[str] = []
        spans: list[tuple[int, int]] = []
        at = 0
        for start, end, new in edits:
            text += [self.text[at:start], new]
            spans += self.spans[at:start]
            spans += [self.span(start, end)] * len(new)
            at = end
        return Tracked("".join((*text, self.text[at:])), (*spans, *self.spans[at:]))

    def sub(self, pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str]) -> Tracked:
        """The text with each match of `pattern`, which is not empty, replaced.

        A match that is replaced by itself keeps the spans of its characters.
        """
        return self.edit(
            (*match.span(), new)
            for match in pattern.finditer(self.text)
            if (new := replace(match)) != match[0]
        )

    def translate(self, table: Mapping[str, str]) -> Tracked:
        """The text with single characters replaced."""
        return self.edit(
            (i, i + 1, table[character])
            for i, character in enumerate(self.text)
            if character in table
        )
