"""Telephone numbers, and chains of numbers that are read like them."""

from __future__ import annotations

import re

from ..tracked import Piece
from .measures import UNIT
from .number_forms import plain
from .numbers import cardinal, digits
from .rules import Rule


def _phone(match: re.Match[str], british: bool) -> str:
    groups = re.findall(r"\d+|[A-Z]+", match[0])
    plus = "plus " if match[0].startswith("+") else ""
    first = groups[0] == "1"
    if groups[first] in ("800", "900") and (first or groups[-1].isalpha()) and len(groups) > 2:
        groups[first] = cardinal(int(groups[first]))
    return plus + ", ".join(
        digits(group) if group.isdecimal() else group.lower() for group in groups
    )


_CALLED_AT = re.compile(
    r"\b(?:call|phone|tel|telephone|fax|dial|text|txt|ring|cell|mobile|voicemail|hotline)"
    r"(?:\.|:|\s(?:us|me|him|her|them|at|on|number|no\.|is|now|toll|free|line)\b:?){0,4}\s$",
    re.IGNORECASE,
)
_CALLED_NEAR = re.compile(
    r"\b(?:call|phone|tel|fax|dial|text|ring|number|contact|reach|message)[^.;!?]{0,40}$",
    re.IGNORECASE,
)
# "500-1000 word essays", "400-1200 nm", "476-1453 AD".
_COUNTED_BEHIND = re.compile(
    rf"\s?(?:{UNIT}|%)(?![^\W²³])|\s(?:[a-z]{{3,}}s|word|people|men|women|per|an?|BCE?|CE|AD)\b|-[a-z]"
)


def _local_phone(match: re.Match[str], british: bool) -> str:
    """A number without its area, "call 867-5309", unless it is a range: "pages 998-1004"."""
    before = match.string[max(0, match.start() - 60) : match.start()]
    if not (match[1] == "555" or _CALLED_AT.search(before)):
        if _COUNTED_BEHIND.match(match.string, match.end()):
            return match[0]
        is_likely_range = int(match[2]) < 2100 or match[2].endswith(("00", "50"))
        if is_likely_range and not _CALLED_NEAR.search(before):
            return match[0]
    return _phone(match, british)


def _extension(match: re.Match[str], british: bool) -> str:
    """The extension of a telephone number, "x204"."""
    return f", extension {digits(match[1])}"


def _star(match: re.Match[str], british: bool) -> str:
    return "star "


def _pound(match: re.Match[str], british: bool) -> str:
    return "hash" if british else "pound"


def _chain(match: re.Match[str], british: bool) -> str:
    """Three or more numbers with hyphens: "4-4-2", a book's number."""
    parts = re.findall(r"\d+", match[0])
    if all(len(part) < 3 for part in parts):
        return " ".join(plain(part, british) for part in parts)
    return ", ".join(digits(part) for part in parts)


def _identifier(match: re.Match[str], british: bool) -> list[Piece]:
    """Two numbers with a hyphen that are no range: "ISSN 2049-3630"."""
    return [Piece(", ".join(map(digits, match[1].split("-"))), *match.span(1))]


_PRESSED = re.compile(r"\b(?:dial|press|enter|type|hit|punch|key in)\b[^.!?]{0,40}$", re.IGNORECASE)


def _pressed(match: re.Match[str], british: bool) -> str:
    """The signs beside digits that are pressed: "press 1#, then *67"."""
    if not _PRESSED.search(match.string, max(0, match.start() - 60), match.start()):
        return match[0]
    star = "star " * bool(match[1])
    number = digits(match[2]) if len(match[2]) > 2 else cardinal(int(match[2]))
    return f"{star}{number}" + (f" {_pound(match, british)}" if match[3] else "")


def _pound_weight(match: re.Match[str], british: bool) -> str:
    """The sign of a weight: "a 10# bag", "100# of sand"."""
    return " pounds" if match.string.startswith(" of ", match.end()) else " pound"


KEYPAD: tuple[Rule, ...] = (
    (re.compile(r"(?<![\w*#.,$])(?=\*|\d+#)(\*)?(\d{1,9})(#)?(?![\w*#])"), _pressed),
    (
        re.compile(
            r"(?:(?<=[\s(]\d)|(?<=[\s(]\d\d)|(?<=[\s(]\d\d\d))#(?=\s(?:bags?|sacks?|box(?:es)?|tubs?|cans?"
            r"|packs?|propane|dumbbells?|plates?|weights?|kettlebells?|test|line|paper|cardstock|felt|turkey|hammer)\b"
            r"|\sof\s[a-z])"
        ),
        _pound_weight,
    ),
    (
        re.compile(
            r"(?:(?<=\b[Dd]ial )|(?<=\b[Pp]ress ))\*(?=\d|\s|[.,])|(?<=\bor )\*(?=\s(?:to|for)\b)"
        ),
        _star,
    ),
    (re.compile(r"(?:(?<=\b[Dd]ial )|(?<=\b[Pp]ress ))#(?=\s|[.,]|$)"), _pound),
)

EXTENSION: Rule = (re.compile(r"(?<=\d{3}[-. ]\d{4}),?\s?[xX]\.?\s?(\d{2,6})\b"), _extension)

PHONES: tuple[Rule, ...] = (
    (
        re.compile(
            r"(?<![\w.])\+(?=(?:\D{0,2}\d){7})\d{1,3}(?:[-. ]?\(?\d{1,8}\)?){2,5}(?![\d-]|\.\d)"
            r"|(?<![\w.])(?:\+?\d{1,3}[-. ])?(?:\(\d{3}\)[-. /]?|\d{3}[-. /])\d{3}[-. ]\d{4}"
            r"(?![\d-]|\.\d)"
            r"|(?<![\w.-])(?:\(0\d{1,4}\)|\(0\)\d{2,4}|0\d{2,4})(?:[ -]\d{3,6}){1,2}(?![\d-]|\.\d)"
            r"|(?<![\w.,/-])0\d{2,4}/\d{5,9}(?![\w/-]|[.,]\d)"
            r"|(?<![\w.])\(\d\d\) 9?\d{4}-\d{4}(?![\w-])"
            r"|(?<![\w.,-])0\d(?:[ .-]\d\d){4}(?![\w-]|[.,]\d)"
            r"|(?<![\w.,-])0\d \d{4} \d{4}(?![\w-]|[.,]\d)"
            r"|(?<![\w.-])1[38]00[ -]\d{3}[ -]\d{3}(?![\d-]|\.\d)"
            r"|(?<![\w.,-])(?:555 \d{4}|\d{3,4} 0\d{3})(?![\w-]|[.,]\d)"
            r"|(?<![\w.,-])00[ -]\d{1,3}(?:[ -]\d{1,8}){2,5}(?![\w-]|[.,]\d)"
            r"|(?<![\w.-])(?:1-)?(?:8(?:00|33|44|55|66|77|88)|900)-(?:\d{3}-)?[A-Z]{2,9}(?:-[A-Z]{2,9}){0,2}(?![\w-])"
            r"|(?<=hone )\d{3}\.\d{4}\b|(?<=all )\d{3}\.\d{4}\b"
        ),
        _phone,
    ),
    (re.compile(r"(?<![\w.$£€¥-])(\d{3})-(\d{4})(?![\d-])"), _local_phone),
    (
        re.compile(r"(?<![\w.,/-])\d{1,7}(?:[-–]\d{1,7}){2,6}(?![\w-]|[.,]\d)"),
        _chain,
    ),
    (
        re.compile(
            r"(?:\b(?:ISSN|EIN)(?::|\sis)?\s(?=\d)|(?:#|\b(?:number|no\.)(?:\sis)?\s)(?=\d{4,}-\d{4}))"
            r"(\d+-\d+)(?![\w-])"
        ),
        _identifier,
    ),
)
