"""Books of the Bible and their verses."""

from __future__ import annotations

import re

from ..tracked import Piece, Replacement
from .letters import letter_name
from .numbers import cardinal
from .roman_numerals import is_numeral, roman_value
from .rules import Phrase, Rule
from .tables import word_sets


def _verse(match: re.Match[str], british: bool) -> list[Piece]:
    """Chapter and verse of a book of the Bible: "Psalm 23:1-6", "Gen. 1:1–2:3", "13:4–8a"."""
    pieces = [
        Piece(f" {cardinal(int(match['chapter']))} ", match.end("book"), match.start("verse")),
        Piece(_part_of_verse(match["verse"]), *match.span("verse")),
    ]
    if book := match["book"]:
        pieces.insert(0, Piece(_BOOK_NAMES.get(book) or _WORDLIKE[book], *match.span("book")))
    if match["last"]:
        chapter = f"{cardinal(int(match['until']))} " if match["until"] else ""
        pieces += [
            Piece(f" to {chapter}", match.end("verse"), match.start("last")),
            Piece(_part_of_verse(match["last"]), *match.span("last")),
        ]
    if match["on"]:
        pieces.append(Piece(" and following", match.start("on"), match.end()))
    return pieces


def _part_of_verse(verse: str) -> str:
    """The number of a verse and the letter of its part: "8a"."""
    letter = f" {letter_name(verse[-1].upper())}" if verse[-1].isalpha() else ""
    return cardinal(int(verse.rstrip("abc"))) + letter


def _old_chapter(match: re.Match[str]) -> Replacement:
    """A chapter as old books number it: "Romans xii. 19"."""
    if not is_numeral(match[1]):
        return match[0]
    return [Piece(f"{roman_value(match[1])}:", match.start(1), match.end())]


def _psalm(match: re.Match[str]) -> str:
    """The name before a chapter, as the letters would be plurals: "Ps 23", "Pss. 1–2"."""
    return f"Psalm{match[1]}"


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
# Names that are words as well, which need a range or no time of day: "Is 55:6-9", "Sir 2:1".
_WORDLIKE = {"Is": "Isaiah", "Am": "Amos", "Song": "Song of Songs", "Sir": "Sirach"}
_NO_TIME = r"\.?\s\d{1,3}:\d{1,3}[-–]\d|(?:(?<=Song)|(?<=Sir))\s\d{1,2}:\d(?!\d)"
_BOOKS = "|".join(sorted(_BOOK_NAMES, key=len, reverse=True))
_NUMBERED_BOOKS = "|".join(name for name, book in _BOOK_NAMES.items() if book in _BIBLE["numbered"])
_UNTIL = r"(?:[-–—](?:(?P<until>\d{1,3}):)?(?P<last>\d{1,3}[a-c]?))?(?P<on>ff?\b\.?)?(?![\w:])"

# Abbreviated names that nothing else has, whose chapter may stand without a verse: "Rom. 8".
_ONLY_BOOKS = "Exod|Lev|Deut|Josh|Judg|Eccl|Isa|Lam|Ezek|Zech|Mal|Matt|Rom|Gal|Eph|Phil|Heb"

CHAPTERS: tuple[Phrase, ...] = (
    (
        re.compile(rf"\b({_ONLY_BOOKS})\.(?=\s\d{{1,3}}(?![\w:]|[.,]\d))"),
        lambda match: _BOOK_NAMES.get(match[1], match[0]),
    ),
    (re.compile(r"\bPs(s?)\.?(?=\s\d{1,3}\b)"), _psalm),
    (re.compile(rf"\b(?:{_BOOKS})\.?\s([ivxlc]{{1,7}})\.\s(?=\d{{1,3}}(?!\w))"), _old_chapter),
)
"""Phrases, each with what it is replaced by, before letters and numerals are looked at."""

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
            rf"\b(?P<book>{_BOOKS}|(?:{'|'.join(_WORDLIKE)})(?={_NO_TIME}))\.?"
            rf"\s(?P<chapter>\d{{1,3}}):(?P<verse>\d{{1,3}}[a-c]?){_UNTIL}"
        ),
        _verse,
    ),
    # A further verse, which no time of day is: "Jn 13:4–8a and 19:9b–18".
    (
        re.compile(
            r"(?<![\w.,:/-])(?P<book>)(?=\d{1,3}:(?:\d{1,3}[bc]|\d[-–]\d{1,3}[a-c]|\da)\b)"
            rf"(?P<chapter>\d{{1,3}}):(?P<verse>\d{{1,3}}[a-c]?){_UNTIL}"
        ),
        _verse,
    ),
)
"""Books of the Bible and their verses."""
