"""Heights, and sizes of two or three dimensions."""

from __future__ import annotations

import re

from ..tracked import Piece, Replacement
from .measures import unit_name
from .number_forms import NOUN_AFTER, NUMBER, START, apart, is_attributive, is_one, plain, to_next
from .numbers import cardinal, in_pairs, plural
from .rules import Rule
from .tables import word_sets

_CONTAINERS = "|".join(sorted(word_sets("measured")["container"]))


def _feet_and_inches(match: re.Match[str], british: bool) -> str:
    """A height, or a time where there are more inches than a foot has: "a lap of 1'23\""."""
    if int(match[2]) > 11:
        minutes = cardinal(int(match[1])) + (" minute " if is_one(match[1]) else " minutes ")
        return f"{minutes}{cardinal(int(match[2]))} seconds"
    return f"{cardinal(int(match[1]))} foot {cardinal(int(match[2]))}"


def _per_amount(match: re.Match[str], british: bool) -> list[Piece]:
    """The slash of "8 L/100 km"."""
    return [Piece(" per ", *match.span(1))]


_EXTENT = re.compile(
    r"\s(?:wide|tall|long|thick|high|deep|across|apart|square|in diameter|[a-z]+ly"
    r"|taller|longer|higher|deeper|wider|down|below|above|overnight|expected|possible|likely|fell)\b"
)
#: Another adjective of the same thing: "a 65" 4K TV".
_FEATURE = re.compile(r"\s\d+[A-Za-z]")
_STRAIGHT = re.compile(r"(\d?)\"")


def is_quoted(match: re.Match[str]) -> bool:
    """Whether a quotation is open before the match, of 1,000 characters at the most; a sign after a
    number opens none."""
    start = max(0, match.start() - 1000)
    open_ = False
    for sign in _STRAIGHT.finditer(match.string, start, match.start()):
        open_ = not open_ and not sign[1]
    low = match.string.count("”", start, match.start())
    return open_ or match.string.count("“", start, match.start()) > low


def _inches(match: re.Match[str], british: bool) -> Replacement:
    if is_quoted(match):
        return match[0]  # it closes a quotation
    describes = NOUN_AFTER.match(match.string, match.end())
    describes = describes or _FEATURE.match(match.string, match.end())
    extent = _EXTENT.match(match.string, match.end())
    joined = match.string.startswith("-", match.end())  # 2"-wide
    many = bool(extent or not (describes or joined)) and not is_one(match[1])
    return [Piece(" inches" if many and not is_attributive(match) else " inch", *match.span(2))]


def _by(match: re.Match[str], british: bool) -> str:
    return " by "


_SIDES = {"W": "wide", "D": "deep", "H": "high", "L": "long"}


def _side(match: re.Match[str], british: bool) -> str:
    """A side of a thing by its letter: 84"W x 36"D."""
    name = unit_name(match[2].rstrip("."), many=not is_one(match[1]))
    words = f"{plain(match[1], british)} {name}"
    return f"{words} {_SIDES[match[3]]}" + " by " * bool(match[4])


def _resolution(match: re.Match[str], british: bool) -> str:
    """The sides of a picture in pixels: "2560x1440"."""
    return " by ".join(in_pairs(side, british) for side in match.groups() if side)


def _planks(match: re.Match[str], british: bool) -> str:
    """Planks by their sides: "2x4s"."""
    return f"{cardinal(int(match[1]))} by {plural(cardinal(int(match[2])))}"


def _with_hundredths(match: re.Match[str], british: bool) -> str:
    """A unit between numbers: "1m75", "2h30"."""
    name = "meter" if match[2] == "m" else "hour"
    words = f"{cardinal(int(match[1]))} {name if is_one(match[1]) else plural(name)}"
    return f"{words} {plain(match[3], british)}"


def _stone(match: re.Match[str], british: bool) -> str:
    """The unit of "11st 6lb", which is no ordinal."""
    return " stone"


_SIZED = re.compile(
    r"\s(?:loaf|baking|cake|sheet|square|pan|tin|dish|board|frame|photo|print|poster|mattress|rug"
    r"|table|screen|canvas|room|shed|tarp|panel|tile|box|card|envelope|garden|bed)s?\b"
)


def _signed_dimensions(match: re.Match[str], british: bool) -> str:
    """Sides in feet or inches: 12' x 15'."""
    name, names = ("foot", "feet") if match[2] == "'" else ("inch", "inches")
    sides = (match[1], match[3], match[4])
    singular = is_attributive(match) or bool(_SIZED.match(match.string, match.end()))
    return " by ".join(
        f"{plain(side, british)} {name if singular or is_one(side) else names}"
        for side in sides
        if side
    )


_OPEN_QUOTE = re.compile(r"(?<!\w)'(?=\w)")


def _length(match: re.Match[str], british: bool) -> str:
    """Feet, whose sign closes no quotation: "a climb of 800'"."""
    number = match[1] or match[2] or match[3] or match[4]
    if match[1] and _OPEN_QUOTE.search(match.string, 0, match.start()):
        return match[0]
    singular = is_one(number) or bool(match[4]) or is_attributive(match)
    return f"{plain(number, british)} {'foot' if singular else 'feet'}"


INCHES: Rule = (
    re.compile(
        r"(?:(?<![\w.,/'])(?<![x×'′] )|(?<=\d[x×])|(?<=\d [x×] ))(\d+(?:\.\d+)?|\.\d+)([\"”″])"
        r"(?=\s(?!x\b|[WDHL]\s?[x×])[A-Za-z\d(]|-[a-z]|\s=\s|[.,;)]|\s*$)"
    ),
    _inches,
)
"""An inch sign that is no quotation mark, and of several sides the one behind the last."""

MIXED_SIZES: Rule = (
    re.compile(
        r"(?<=\d[\s-]\d/\d)[\"”″]?\s?[x×]\s?(?=\d)|(?:(?<=\d/\d)|(?<=\d/\d\d))[\"”″]\s?[x×]\s?(?=\d)"
    ),
    _by,
)
"""The sign between sizes with fractions: "8½ × 11", "8½" × 11"" without the first inch."""

_LENGTH_ENDS = (
    r"\s(?:tall|long|wide|high|deep|thick|square|across|apart|away|above|below|of|in|and|or|on|at"
    r"|from|to|up|down|off|for|by)\b|[.,;)]|$"
)
_LONG_NOUNS = r"(?:ceilings?|ladders?|fence|poles?|ropes?|cables?|hoses?|boats?)\b"

SIZES: tuple[Rule, ...] = (
    (re.compile(rf"(?<=\d)(\s?[-–]\s?)(?=\d{{1,3}}'(?:{_LENGTH_ENDS}|\s{_LONG_NOUNS}))"), to_next),
    (
        re.compile(
            r"(?<=\d[\"”″])\s?[x×]\s?(?=\d{1,3}['′])"
            r"|(?<=\d['′])\s?[x×]\s?(?=\d{1,3}['′]\s?\d{1,2}[\"”″])"
        ),
        _by,
    ),
    (
        # Not the key of a piece of music: "No. 9 in D minor", "opus 12 in D".
        re.compile(
            rf"{START}({NUMBER})\s?([\"”″]|in\.?|[cm]m)\s?([WDHL])\b(?!\s(?:minor|major|flat|sharp)|-(?:flat|sharp))"
            r"(?<!umber \d in D)(?<!umber \d\d in D)(?<!pus \d in D)(?<!pus \d\d in D)(\s?[x×]\s?)?"
        ),
        _side,
    ),
    (
        re.compile(
            rf"(?<=\d)\s?[x×]\s?(?={NUMBER}[\s-]?(?:[km]?g|lbs?|oz\.?|[cm]?[lL])"
            rf"\s(?:{_CONTAINERS})s?\b(?!\s(?:be|hold)\b))"
        ),
        apart,
    ),
    (
        re.compile(
            r"(?<![\w.,])([1-9]\d{2,3})(?:[x×]([1-9]\d{2,3})(?![\w]|[.,]\d|\s?[cm]?m\b)"
            r"|\s[x×]\s([1-9]\d{2,3})(?=\s(?:px|pixels?|resolution|display|screen|monitor|video)\b))"
        ),
        _resolution,
    ),
    (re.compile(r"(?<![\w.,])(\d{1,2})[x×](\d{1,2})s\b"), _planks),
    (re.compile(r"(?<![\w.,])([1-9]\d?)([mh])(\d\d)(?!\w|[.,]\d)"), _with_hundredths),
    (re.compile(r"(?<=[A-Za-z]/(?:min|day|sec))(/)(?=\d)"), _per_amount),
    (re.compile(rf"{START}(\d{{1,2}})['′][\s-]?(\d|[1-5]\d)(?:\"|''|”|″)"), _feet_and_inches),
    (
        re.compile(rf"{START}({NUMBER})(['\"])\s?[x×]\s?({NUMBER})\2(?:\s?[x×]\s?({NUMBER})\2)?"),
        _signed_dimensions,
    ),
    (
        re.compile(
            rf"(?<![\w.,'])({NUMBER})'(?={_LENGTH_ENDS})"
            r"|(?<=\bby\s)(\d{1,3})'(?!\w)"
            r"|(?:(?<=\b[Aa]\s)|(?<=\b[Aa]n\s))(\d{1,3})'(?=\s[a-z])"
            rf"|(?<!\w)(\d{{1,3}})'(?=\s{_LONG_NOUNS})"
        ),
        _length,
    ),
    (
        re.compile(
            r"(?<=\d)\s?(?:L|l|kcal|kJ|m?g|mcg|µg|kWh|m[lL]|IU|tabs?|doses?)(/)"
            r"(?=\d+\s?(?:km|g|ml|mL|mi|h|hrs?|hours?|days?)\b)"
        ),
        _per_amount,
    ),
    (
        re.compile(
            r"(?:(?<=\d\d)|(?<=[4-9]))\s?st\b(?=\s\d{1,2}\s?lbs?\b)|(?<=\d)\sst\b"
            r"|(?<=weigh \d\d)st\b|(?<=weighs \d\d)st\b|(?<=weighed \d\d)st\b"
        ),
        _stone,
    ),
    (
        re.compile(
            rf"{START}(\d)\s?ft\.?\s(\d{{1,2}})(?:\s?in\b(?:\.(?=\s[a-z]))?"
            r"|(?=\s(?:and|but|tall)\b|[.,;:)](?!\d)|$))"
        ),
        _feet_and_inches,
    ),
    (re.compile(r"(?<![\w.,'’/-])([4-7])['′](\d|1[01])(?![\d'′\"”½¼¾]|\w)"), _feet_and_inches),
    (
        re.compile(
            r"(?<=\d)[x×](?=\d)(?!10[\^⁻⁰-⁹¹²³])|(?<=\d)\sx\s(?=\d)|(?<=\d[a-z\s][a-z])\s[x×]\s(?=\d)"
            r"|(?:(?<=\d-[a-z][a-z])|(?<=\d[\s-][a-z][a-z]\.))\s[x×]\s(?=\d)|(?:(?<=[a-z]{2})|(?<=\dm))\s[x×]\s(?=\d[\d.]*\s?(?:[cmk]?m|in|ft|px)\b)"
            r"|(?<=\d)\s×\s(?=\d[\d.,]*\s?(?:[cmk]?m\b|in\b|ft\b|px\b))"
        ),
        _by,
    ),
)
