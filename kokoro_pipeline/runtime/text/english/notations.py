"""Rewrite ways to write numbers and units that other rules do not know as ones that they know."""

from __future__ import annotations

import re

from ..tracked import Piece, Replacement
from .measures import PER_UNIT, UNIT, unit_per
from .number_forms import Rule

_METRIC = r"k?g|m[lL]|[lL]|[cmk]?m"
_CUSTOMARY = r"oz|lbs?|fl\.? oz|in|inch(?:es)?|ft|pt|pints?|cups?|tbsp|tsp|miles|gal"


def _comma(match: re.Match[str], british: bool) -> list[Piece]:
    """The spaces between the thousands of "10 000" and "1 234 567"."""
    return [
        Piece(",", space, space + 1)
        for space in range(*match.span())
        if match.string[space].isspace()
    ]


def _same(match: re.Match[str], british: bool) -> list[Piece]:
    """The slash between two measures of the same: "200g/7oz"."""
    return [Piece(", ", *match.span(1 if match[1] else 2))]


def _per_power(match: re.Match[str], british: bool) -> Replacement:
    """A unit with a negative power: "m s⁻²" is "m/s²", and "cm⁻¹" is "per centimeter"."""
    power = match[3].replace("¹", "")
    start = match.end(1) if match[1] else match.start()
    if match[1]:
        return [Piece(f"/{match[2]}{power}", start, match.end())]
    return [Piece(f" per {unit_per(match[2], power or None)}", start, match.end())]


def _superscript(match: re.Match[str], british: bool) -> str:
    return "²" if match[1] == "2" else "³"


def _times(match: re.Match[str], british: bool) -> str:
    return "×"


def _degrees(match: re.Match[str], british: bool) -> list[Piece]:
    """The space of "20° C"."""
    return [Piece("", *match.span(1))]


def _oven(match: re.Match[str], british: bool) -> list[Piece]:
    """The heat of an oven: "220C/200C fan/gas 7"."""
    return [
        Piece("°C" if sign[0] == "C" else ", ", *sign.span())
        for sign in re.compile("C|/").finditer(match.string, *match.span())
    ]


def _rooms(match: re.Match[str], british: bool) -> list[Piece]:
    """Bedrooms and baths: "3BR/2BA"."""
    return [Piece(" bedroom, ", *match.span(1)), Piece(" bath", *match.span(2))]


def _bedrooms(match: re.Match[str], british: bool) -> str:
    return " bedroom"


NOTATIONS: tuple[Rule, ...] = (
    (
        re.compile(
            r"(?<![\w.,:/+-])(?<!\d )[1-9]\d{0,2}(?: \d{3})* 000(?! ?\d|[\w/-]|[.,]\d)"
            r"|(?<![\w.,:/+-])(?<!\d )[1-9]\d?(?: \d{3}){2,5}(?! ?\d|[\w/-]|[.,]\d)"
            r"|(?<=[$£€¥])[1-9]\d{0,2}(?: \d{3})+(?! ?\d|\w|[.,]\d)"
        ),
        _comma,
    ),
    (
        re.compile(
            rf"(?<=\d)\s?(?:{_METRIC})(/)(?=\d[\d./]*\s?(?:{_CUSTOMARY})\b)"
            rf"|(?<=\d)\s?(?:{_CUSTOMARY})(/)(?=\d[\d./]*\s?(?:{_METRIC})\b)"
        ),
        _same,
    ),
    (re.compile(r"(?<=\d)\s?°(\s)(?=[CF]\b)"), _degrees),
    (
        re.compile(
            r"\b\d{2,3}C/\d{2,3}C(?:\sfan|\b)(?:/(?=gas\b))?|\b\d{2,3}C(?=\s(?:fan|oven)\b)"
            r"|(?<=\boven to )\d{2,3}C\b"
        ),
        _oven,
    ),
    (
        re.compile(
            rf"(?:(?<=\d)|(?<=\d )|(?<=[⁰¹²³⁴-⁹] ))({UNIT})?[·\s]?(?<![A-Za-z])({PER_UNIT})⁻([¹²³])"
            r"(?![\w⁰¹²³⁴-⁹])"
        ),
        _per_power,
    ),
    (re.compile(r"(?<=[\w)])\^([23])(?![\w^(]|\.\d)"), _superscript),
    (re.compile(r"(?<=\d)\s?x\s?(?=10[\^⁻⁰¹²³⁴-⁹])"), _times),
    (
        re.compile(
            r"(?<=\d)(\s?(?:BR|[Bb]d)(?:,\s|/|\s))(?=\d)[\d.]{1,3}(\s?(?:BA|[Bb]a))\b(?!\s[a-z]+ed)"
        ),
        _rooms,
    ),
    (
        re.compile(
            r"(?<=\d)\s?(?:BR|bdrm?\.?)(?=\s(?:apt|apartment|condo|house|home|unit|flat|villa)\b)"
        ),
        _bedrooms,
    ),
)
"""Thousands, powers and pairs of measures, before any other rule for numbers."""
