"""Books of the Bible and their verses."""

from __future__ import annotations

import re

from ..tracked import Piece
from .number_forms import Rule
from .numbers import cardinal
from .tables import word_sets


def _verse(match: re.Match[str], british: bool) -> list[Piece]:
    """Chapter and verse of a book of the Bible: "Psalm 23:1-6", "Gen. 1:1–2:3"."""
    pieces = [
        Piece(_BOOK_NAMES[match[1]], *match.span(1)),
        Piece(f" {cardinal(int(match[2]))} ", match.end(1), match.start(3)),
        Piece(cardinal(int(match[3])), *match.span(3)),
    ]
    if match[5]:
        chapter = f"{cardinal(int(match[4]))} " if match[4] else ""
        pieces += [
            Piece(f" to {chapter}", match.end(3), match.start(5)),
            Piece(cardinal(int(match[5])), *match.span(5)),
        ]
    return pieces


def _part_of_book(match: re.Match[str], british: bool) -> str:
    """The number of "1 Corinthians"."""
    return _PARTS[match[0]]


_PARTS = {
    **dict.fromkeys(("1", "I"), "first"),
    **dict.fromkeys(("2", "two"), "second"),
    **dict.fromkeys(("3", "three"), "third"),
}
_BIBLE = word_sets("bible")
_BOOK_NAMES = {
    **{book: book for book in _BIBLE["book"] | _BIBLE["numbered"]},
    **{short: book for book, words in _BIBLE.items() if book.istitle() for short in words},
}
_BOOKS = "|".join(sorted(_BOOK_NAMES, key=len, reverse=True))
_NUMBERED_BOOKS = "|".join(name for name, book in _BOOK_NAMES.items() if book in _BIBLE["numbered"])

VERSES: tuple[Rule, ...] = (
    (
        re.compile(
            rf"(?<![\w.,])(?:{'|'.join(_PARTS)})(?=\s(?:(?:{_NUMBERED_BOOKS})\.?\s\d{{1,3}}(?:\b|:)"
            r"|(?:Chron|Corinth|Thess|Macc)[a-z]+\b))"
        ),
        _part_of_book,
    ),
    (
        re.compile(
            rf"\b({_BOOKS})\.?\s(\d{{1,3}}):(\d{{1,3}})"
            r"(?:[-–—](?:(\d{1,3}):)?(\d{1,3}))?(?![\w:])"
        ),
        _verse,
    ),
)
