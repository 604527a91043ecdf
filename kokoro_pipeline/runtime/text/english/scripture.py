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
    if match[6]:
        pieces.append(Piece(" and following", match.start(6), match.end()))
    return pieces


def _part_of_book(match: re.Match[str], british: bool) -> list[Piece]:
    """The number of "1 Corinthians", and the name of "1 Cor." before a chapter."""
    pieces = [Piece(_PARTS[match[1]], *match.span(1))]
    if match[2]:
        pieces.append(Piece(_BOOK_NAMES[match[2].rstrip(".")], *match.span(2)))
    return pieces


_PARTS = {
    **dict.fromkeys(("1", "I"), "first"),
    **dict.fromkeys(("2", "two", "II"), "second"),
    **dict.fromkeys(("3", "three", "III"), "third"),
}
_BIBLE = word_sets("bible")
_BOOK_NAMES = {
    **{book: book for book in _BIBLE["book"] | _BIBLE["numbered"]},
    **{short: book for book, words in _BIBLE.items() if book.istitle() for short in words},
    **dict.fromkeys(("Song of Songs", "Song of Solomon", "Song of Sol"), "Song of Solomon"),
}
_BOOKS = "|".join(sorted(_BOOK_NAMES, key=len, reverse=True))
_NUMBERED_BOOKS = "|".join(name for name, book in _BOOK_NAMES.items() if book in _BIBLE["numbered"])

VERSES: tuple[Rule, ...] = (
    (
        re.compile(
            rf"(?<![\w.,])({'|'.join(_PARTS)})\s(?:((?:{_NUMBERED_BOOKS})\.?)(?=\s\d{{1,3}}(?:\b|:))"
            r"|(?=(?:Chron|Corinth|Thess|Macc)[a-z]+\b))"
        ),
        _part_of_book,
    ),
    (
        re.compile(
            rf"\b({_BOOKS})\.?\s(\d{{1,3}}):(\d{{1,3}})"
            r"(?:[-–—](?:(\d{1,3}):)?(\d{1,3}))?(?:(ff?)\b\.?)?(?![\w:])"
        ),
        _verse,
    ),
)
