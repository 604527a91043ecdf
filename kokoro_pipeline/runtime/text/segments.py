"""Cut a text into segments that are read one by one, while the text is still arriving.

A segment is a sentence, or several where the text does not show for certain that one ends: a
segment too long costs a little latency, one too short would be read wrong. A segment never holds
the end of a paragraph inside. Where the cuts are depends only on the text, not on the parts in
which it arrives, and a cut is made as soon as the character after the white space is known.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto

from .surrogates import check_surrogates, with_whole_pairs

MAX_SEGMENT = 1000
"""Code points after which a segment is cut without a sentence end."""

_SLICE = 4096
_MARKUP = 200
"""The longest text, and the longest phonemes, of `[text](/phonemes/)`."""

_FORMULAS = ((r"\[", r"\]"), (r"\(", r"\)"), ("$$", "$$"))
_CLOSERS = "\"'”’»)]」』）】"
_ITEM = re.compile(r"(?:[-*+]|(?:\d{1,3}|[ivx]{2,5}|[IVX]{2,5})[.)])[ \t]+\S")
_MAYBE_ITEM = re.compile(r"(?:[-*+]|(?:\d{1,3}|[ivx]{1,5}|[IVX]{1,5})[.)]?)[ \t]*")
_NUMBER_OF_ITEM = re.compile(r"\(?(?:\d{1,3}|[ivx]{2,5})")
_LAST_WORD = re.compile(r"[^\s\"“”(\[–—/]*$")
# The vowel signs of Devanagari are no letters to \w.
_INITIALS = re.compile(
    r"\w(?:\.\w)*|(?:\w{1,4}\.)+\w{1,4}|(?:[\u0900-\u0963]{1,4}\.)+[\u0900-\u0963]{1,4}"
)
_CLAUSE = re.compile(r"[,;:—、，；：]\s*")
_SPACE = re.compile(r"\s+")
_OPERATORS = frozenset("=+*/<>≤≥≈≠×÷")
"""Signs that begin no sentence: "5! = 120"."""


@dataclass(frozen=True)
class SentenceEnds:
    """How sentences end in a language."""

    before_space: str = ".!?…"
    """Marks that end a sentence if white space follows and no lower-case letter comes next."""
    anywhere: str = ""
    """Marks that end a sentence even without white space behind, unless a closing quotation mark
    or bracket follows: 「はい。」と言った is one sentence."""
    abbreviations: frozenset[str] = frozenset()
    """Words in lower case, without their last point, after which a point ends no sentence."""


@dataclass(frozen=True)
class Segment:
    """A part of a text that is read by itself."""

    text: str
    start: int
    """Its position in the text, in code points."""
    ends_paragraph: bool
    """Whether a paragraph ends here and more text follows."""


def split_segments(text: str | Iterable[str], ends: SentenceEnds) -> Iterator[Segment]:
    """The segments of a text, or of the strings that make it up, in order.

    Only white space and bullets are left out between them. Of an iterable, no more is consumed
    than is needed to find the end of the next segment. Raises InputError for half of a character,
    of a string before its first segment; two strings may share one.
    """
    if isinstance(text, str):
        check_surrogates(text)
    splitter = _Splitter(ends)
    for part in _slices(text) if isinstance(text, str) else with_whole_pairs(text):
        yield from splitter.feed(part)
    yield from splitter.finish()


def _slices(text: str) -> Iterator[str]:
    return (text[start : start + _SLICE] for start in range(0, len(text), _SLICE))


class _Decision(Enum):
    CUT = auto()
    PARAGRAPH = auto()
    KEEP = auto()
    WAIT = auto()
    """More text is needed."""


class _Splitter:
    """The text that is not cut yet."""

    def __init__(self, ends: SentenceEnds) -> None:
        self._ends = ends
        anywhere, closers = re.escape(ends.anywhere), re.escape(_CLOSERS)
        marks = rf"|[{anywhere}]+(?![{anywhere}{closers}])\s*" if anywhere else ""
        self._marks = ends.before_space + ends.anywhere
        # Where a segment may end: after the marks, in the white space, or at a bullet.
        self._gap = re.compile(rf"\s+|[•‣◦]\s*{marks}")
        self._buffer = ""
        self._position = 0
        self._scanned = 0
        self._final = False

    def feed(self, part: str) -> Iterator[Segment]:
        check_surrogates(part, self._position + len(self._buffer))
        self._buffer += part
        return self._segments()

    def finish(self) -> Iterator[Segment]:
        self._final = True
        yield from self._segments()
        if rest := self._buffer.rstrip():
            yield Segment(rest, self._position, False)

    def _segments(self) -> Iterator[Segment]:
        while True:
            self._drop(len(self._buffer) - len(self._buffer.lstrip()))
            found = self._cut()
            if found is None:
                return
            end, resume, paragraph = found
            segment = Segment(self._buffer[:end].rstrip(), self._position, paragraph)
            self._drop(resume)
            if segment.text:
                yield segment

    def _drop(self, count: int) -> None:
        self._buffer = self._buffer[count:]
        self._position += count
        self._scanned = 0 if count else self._scanned

    def _cut(self) -> tuple[int, int, bool] | None:
        """End of the first segment, start of the next, and whether a paragraph ends.

        None if more text is needed, or if all that is left is one segment.
        """
        for gap in self._gap.finditer(self._buffer, self._scanned):
            if gap.start() >= MAX_SEGMENT:
                break
            decision = self._decide(gap)
            if decision is _Decision.WAIT:
                self._scanned = gap.start()
                return None
            if decision is not _Decision.KEEP:
                bullet = gap[0][0] in "•‣◦"
                end = gap.start() if bullet else gap.end()
                return end, gap.end(), decision is _Decision.PARAGRAPH
        if len(self._buffer) > MAX_SEGMENT:
            end = self._forced()
            return end, end, False
        self._scanned = len(self._buffer)
        return None

    def _decide(self, gap: re.Match[str]) -> _Decision:
        buffer, start, end = self._buffer, gap.start(), gap.end()
        if end == len(buffer) and self._final:
            return _Decision.KEEP
        lines = gap[0].replace("\r\n", "\n").replace("\r", "\n")
        if lines.count("\n") > 1 or "\u2029" in lines:
            return _Decision.PARAGRAPH
        if end == len(buffer):
            return _Decision.WAIT
        if gap[0][0] in "•‣◦":
            return _Decision.PARAGRAPH
        if "\n" in lines:
            if _ITEM.match(buffer, end):
                return _Decision.PARAGRAPH
            if not self._final and _MAYBE_ITEM.fullmatch(buffer, end):
                return _Decision.WAIT
        if not gap[0][0].isspace():
            return self._outside_markup(end)
        if not self._sentence_ends(start, buffer[end]):
            return _Decision.KEEP
        outside = self._outside_formula(start)
        return self._outside_markup(start) if outside is _Decision.CUT else outside

    def _sentence_ends(self, position: int, following: str) -> bool:
        before = self._buffer[max(0, position - 80) : position].rstrip(_CLOSERS)
        if not before or before[-1] not in self._marks:
            return False
        if following.islower() or following in _OPERATORS:
            return False
        if before[-1] != "." or before.endswith(".."):
            return True
        found = _LAST_WORD.search(before, 0, len(before) - 1)
        word = found[0].lower() if found else ""
        if not self._ends.abbreviations.isdisjoint((word, word.rpartition("-")[2])):
            return False
        if _NUMBER_OF_ITEM.fullmatch(word):
            return position > len(word) + 2  # "1. First" is not two sentences
        return word.isdigit() or not _INITIALS.fullmatch(word)

    def _outside_markup(self, position: int) -> _Decision:
        """Whether a sentence may be cut here: not inside `[text](/phonemes/)`."""
        for opening, closing, follows in (("[", "]", "("), ("](/", ")", "")):
            start = self._buffer.rfind(opening, max(0, position - _MARKUP), position)
            if start < 0 or closing in self._buffer[start + len(opening) : position]:
                continue
            limit = start + _MARKUP + len(opening) + 1
            end = self._buffer.find(closing, position, limit)
            if end >= 0 and self._buffer.startswith(follows, end + 1):
                return _Decision.KEEP
            if not self._final and len(self._buffer) <= (limit if end < 0 else end + 1):
                return _Decision.WAIT
        return _Decision.CUT

    def _outside_formula(self, position: int) -> _Decision:
        """Whether a sentence may be cut here: not inside a formula in LaTeX."""
        for opening, closing in _FORMULAS:
            if opening == closing:
                inside = self._buffer.count(opening, 0, position) % 2 == 1
            else:
                last = self._buffer.rfind(opening, 0, position)
                inside = last > self._buffer.rfind(closing, 0, position)
            if not inside:
                continue
            if self._buffer.find(closing, position, MAX_SEGMENT) >= 0:
                return _Decision.KEEP
            if not self._final and len(self._buffer) <= MAX_SEGMENT:
                return _Decision.WAIT
        return _Decision.CUT

    def _forced(self) -> int:
        """Where to cut a text without sentence ends: after a clause, else between words or letters.

        Among nothing but combining marks it is cut at the limit: cutting mark by mark is slow.
        """
        window = self._buffer[:MAX_SEGMENT]
        clauses = [m.end() for m in _CLAUSE.finditer(window, MAX_SEGMENT // 2)]
        spaces = [m.end() for m in _SPACE.finditer(window)]
        for end in (*reversed(clauses), *reversed(spaces)):
            if self._outside_markup(end) is not _Decision.KEEP:
                return end
        letters = (
            end for end in range(MAX_SEGMENT, 0, -1) if not unicodedata.combining(self._buffer[end])
        )
        return next(letters, MAX_SEGMENT)
