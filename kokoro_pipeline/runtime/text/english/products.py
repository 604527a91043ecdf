"""Sizes, counts and stock numbers as shops list them: "W 220 × D 95 cm", "50/pk", "SKU 0012-44"."""

from __future__ import annotations

import re

from ..tracked import Piece
from .codes import characters
from .numbers import cardinal
from .rules import Phrase

_SIDES = "[WDHL]|Dia|SH"
_SIDE_NAMES = {"W": "wide", "D": "deep", "H": "high", "L": "long"}


def _by(match: re.Match[str]) -> list[Piece]:
    """The sign between two sides: "W 220 × D 95", "220W x 95D"."""
    return [Piece(" by ", *match.span(1))]


def _stock_number(match: re.Match[str]) -> list[Piece]:
    """A number by which a shop or a maker knows a thing, one group after another."""
    groups = re.finditer(r"[A-Z\d]+", match[1])
    offset = match.start(1)
    words = ", ".join(characters(group[0]) for group in groups)
    return [Piece(words, offset, match.end(1))]


def _lettered(match: re.Match[str]) -> str:
    """Numbers whose letters are no units: the waist and leg of "32W x 30L", tires of "99W"."""
    numbers, letters = match.groups()[::2], match.groups()[1::2]
    words = [f"{cardinal(int(n))} {letter}" for n, letter in zip(numbers, letters, strict=True)]
    return " by ".join(words)


def _side_named(match: re.Match[str]) -> list[Piece]:
    """The letter of a side behind its number: "220W × 95D × 85H cm"."""
    sides = re.finditer(
        rf"(?<=\d)\s?({'|'.join(_SIDE_NAMES)})\b(\s?(?:cm|mm|in)\b)?|\s?[x×]\s?(?=\d)", match[0]
    )
    words = (
        (side, f"{side[2] or ''} {_SIDE_NAMES[side[1]]}" if side[1] else " by ") for side in sides
    )
    start = match.start()
    return [Piece(word, start + side.start(), start + side.end()) for side, word in words]


PRODUCTS: tuple[Phrase, ...] = (
    (
        re.compile(
            r"(?<![\w.,])(\d{1,2})d(?=(?<=[Nn]ails: \dd)|(?<=[Nn]ails: \d\dd)"
            r"|\s(?:(?:common|finish(?:ing)?|box|galvanized)\s)?nails?\b)"
        ),
        lambda m: f"{m[1]} penny",
    ),
    (re.compile(r"(?<![\w.])(\d\d)(W)\s?[x×/]\s?(\d\d)(L)\b"), _lettered),
    (
        re.compile(
            r"(?<![\w.])\d{1,4}(?:\.\d)?\s?[WDHL](?:\s?[x×]\s?\d{1,4}(?:\.\d)?\s?[WDHL]){1,2}\b(?:\s?(?:cm|mm|in)\b)?"
        ),
        _side_named,
    ),
    (
        re.compile(
            rf"\b(?:{_SIDES})\.?:?\s?\d[\d.]*\s?(?:cm|mm|in|m|\"|″)?(\s?[×x]\s?)"
            rf"(?=(?:{_SIDES})\.?:?\s?\d)"
        ),
        _by,
    ),
    (re.compile(r"(?<![\w#])#\d{1,2}(\s?[×x]\s?)(?=\d)"), _by),
    (re.compile(r"(?<=\d)/(?=p(?:ac)?k\b|(?:box|bag|case|carton|roll|ctn)\b)"), " per "),
    (re.compile(r"(?<=\bper )pk\b"), "pack"),
    (re.compile(r"(?<=\d)-pc\b(?:\.(?!$|\s[A-Z]))?"), "-piece"),
    (re.compile(r"(?<=\d)-ct\b(?:\.(?!$|\s[A-Z]))?"), "-count"),
    (re.compile(r"(?<![\w-])(4|6|8|10|12)-(24|32|40)\s?[×x]\s?(?=\d)"), r"\1 \2 by "),
    (
        re.compile(r"(?<=\d)[\s-]?ct\b\.?(?=\s(?:(?:white|yellow|rose|solid) )?gold\b)"),
        " karat",
    ),
    (re.compile(r"\b([Ss])z\b\.?(?=\s\d)"), r"\1ize"),
    (re.compile(r"(?<=R\d\d )(\d{2,3})([A-Z])\b"), _lettered),
    (re.compile(r"(?<=\d[\"″])(?<!/\d[\"″])\s?×\s?(?=\d)"), " by "),
    (
        re.compile(
            r"(?<![\w./-])(\d/\d{1,2})-(?=(?:13|14|16|18|20|24|28|32)"
            r"(?:\s(?:x|×|UN[CF]|threads?|bolts?|screws?|nuts?|taps?|studs?|threaded)(?!\w)|[,.;)]|$))"
        ),
        r"\1 ",
    ),
    (
        re.compile(
            r"(?<![.\d])(?!(?:14|18|22|24)\s)(\d{2,4})[\s-]?ct\b(?!\s(?:gold|white|yellow|rose|diamond))(?:\.(?!$|\s[A-Z]))?"
        ),
        r"\1-count",
    ),
    (re.compile(r"(?<=\bper )ctn\b"), "carton"),
    (
        re.compile(
            r"\b(?:SKU|P/N|S/N|MPN|NDC|UPC|EAN|ASIN|(?:[Ss]tock|[Ss]tyle|[Pp]art) [Nn]o\.?)"
            r"[:#]?\s?#?([A-Z\d]{1,12}(?:-[A-Z\d]{1,12}){1,4})(?![\w-])"
        ),
        _stock_number,
    ),
    (
        re.compile(
            r"(?<=\d)[\s-]?pt\b\.?(?=\s(?:font|type|text|size|bold|italic|Arial|Times|Helvetica|Calibri"
            r"|Courier|Verdana|Georgia|heading|lettering|leading|star|buck|scale|deer|turn|lead\b))"
        ),
        "-point",
    ),
)
"""Phrases, each with what it is replaced by, before abbreviations are expanded."""
