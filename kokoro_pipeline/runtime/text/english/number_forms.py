"""What the rules for numbers share: how a number is written, and how it is read by itself."""

from __future__ import annotations

import re

from ..tracked import Piece
from .numbers import cardinal, decimal, digits, plural

NUMBER = (
    r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,2}(?:,\d\d)+,\d{3}(?!\d)|\d+(?:\.\d+)?|(?<![\d.])\.\d+)"
)
# Matches are not part of a longer number, a word or a point-separated string.
START = r"(?<![\w.,])"
END = r"(?![\w]|[.,]\d)"
DASH = r"\s?[-–—]\s?"

_INDEFINITE_BEFORE = re.compile(r"\b[Aa]n?\s$")
_SIDES = re.compile(r"(?:[\d.]+(?:[ -]?[a-z]{1,6}\.?)? (?:by|x|×) ){1,2}$")
ARTICLE_BEFORE = re.compile(r"\b(?:an?|another|each|every)\s$", re.IGNORECASE)
NOUN_AFTER = re.compile(
    r"\s(?!(?:all|an?|and|are|around|as|at|after|because|before|between|but|by|during|each|every|for"
    r"|from|he|I|if|in|into|is|it|of|off|on|or|over|per|plus|she|since|so|than|that|the|then"
    r"|thereafter|they|this|throughout|till?|to|under|unless|until|was|we|were|when|where|while|with"
    r"|within|without|you)\b)[A-Za-z]"
)


def is_attributive(match: re.Match[str], sides: bool = False) -> bool:
    """Whether the match stands between an article and a noun: "a $5 bill", or does so as the last
    of several `sides`: "a 2 by 3 cm patch"."""
    before = match.string[max(0, match.start() - (30 if sides else 9)) : match.start()]
    article = ARTICLE_BEFORE.search(_SIDES.sub("", before) if sides else before)
    noun = NOUN_AFTER.match(match.string, match.end())
    if not (article and noun):
        return False
    # "Every 4 hrs PRN" describes no noun.
    return noun[0].islower() or article[0].strip().lower() in ("a", "an")


def is_one_of_a_kind(match: re.Match[str]) -> bool:
    """Whether "a" or "an" stands before the match: "a 9mm"."""
    start = match.start()
    return bool(_INDEFINITE_BEFORE.search(match.string[max(0, start - 4) : start]))


def plain(text: str, british: bool) -> str:
    """A number with optional thousands separators and point."""
    text = text.replace(",", "")
    if len(text) > 1 and text[0] == "0" and text[1] != ".":
        return digits(text) if "." not in text else decimal(text, british)
    return decimal(text, british)


def is_one(text: str) -> bool:
    return text in ("1", "1.0")


def looks_like_year(text: str) -> bool:
    """Whether four digits are a year in running text."""
    return len(text) == 4 and text.isdigit() and 1100 <= int(text) <= 2099


def to_next(match: re.Match[str], british: bool) -> list[Piece]:
    """The dash of a range whose numbers both have a unit: "5%–6%"."""
    return [Piece(" to ", *match.span(1 if match[1] else 0))]


def apart(match: re.Match[str], british: bool) -> str:
    """The sign of "A2-70", which is no range, or of "2 x 400g tins", which are two tins."""
    return " "


def apart_within(match: re.Match[str], british: bool) -> list[Piece]:
    """The sign in the first group, as that of "IEC 60601-1"."""
    return [Piece(" ", *match.span(1))]


def digit_by_digit(match: re.Match[str], british: bool) -> list[Piece]:
    """The number in the first group, as in "squawk 7700", "ISO 27001", "75002 Paris"."""
    return [Piece(digits(match[1]), *match.span(1))]


def in_the_plural(match: re.Match[str], british: bool) -> str:
    """The number in the first group, of which there are several: "three $20s", "the low 50s"."""
    return plural(cardinal(int(match[1])))


def minus(match: re.Match[str], british: bool) -> str:
    return " minus "


def letter_by_letter(match: re.Match[str], british: bool) -> str:
    """The corners of "triangle ABC", or the letters of a province."""
    return ".".join(match[0])


def side_by_side(match: re.Match[str], british: bool) -> str:
    """Two numbers that are no range: "Table 4-1", "a 3-4 defense", "6-2, 215 pounds"."""
    return " ".join(cardinal(int(part)) for part in match.groups() if part)
