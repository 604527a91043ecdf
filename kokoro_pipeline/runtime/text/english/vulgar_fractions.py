"""Fractions with a slash, and other pairs of numbers that are written so."""

from __future__ import annotations

import re

from ..tracked import Piece
from .dates import OF_WHOLE, day_of_month
from .measures import UNIT_AFTER_FRACTION, unit_name, without_point
from .number_forms import DASH, apart, is_attributive, plain, side_by_side, to_next
from .numbers import cardinal, fraction
from .rules import Rule
from .sizes import is_quoted

_NOT_FRACTIONS = {(24, 7), (9, 11), (7, 11), (7, 7), (50, 50), (60, 40), (80, 20), (20, 20)}
_RATING = re.compile(
    r"\b(?:rat(?:e|ed|es|ing)|scor(?:e|ed|es|ing)|gave|give|gives|given|got|grade[ds]?|marks?|solid"
    r"|perfect|reviews?)\b[^.!?]{0,40}$",
    re.IGNORECASE,
)

_RATED_BEFORE = re.compile(r"\b(?:an?|[Oo]verall:?|[Ii]t['’]s)\s$")
_RATED_AFTER = re.compile(r"[.,;:!?)](?!\d)|$|\s(?:at (?:best|most)|for me|from me|overall)\b")
_ODDS = re.compile(
    r"[\s-](?:odds|favou?rites?|fav|(?:jt|co)[\s-]?fav|shots?|underdogs?|outsiders?|chances?)\b"
)
_ODDS_BEFORE = re.compile(
    r"\b(?:odds(?: (?:are|is|were|of|at|on it at))?|SP(?: (?:is|was))?"
    r"|(?:[Pp]riced|[Bb]acked|[Ss]tarted|fav(?:ou?rite)?|outsider|winner|romped home) at"
    r"|(?:[Bb]acked|drifted|shortened|cut|eased)(?: out| in)? (?:from|to)|\d/\d{1,2} to) $"
)
_POLLED = re.compile(
    r"\s(?:people|women|men|children|kids|adults|teens|parents|voters|students|teachers|doctors"
    r"|dentists|nurses|patients|users|customers|consumers|respondents|workers|employees|households"
    r"|families|companies|businesses|firms|players|drivers|readers|Americans|Britons|Brits)\b"
)


_PART_OF = re.compile(OF_WHOLE)
_PART_BEFORE = re.compile(
    r"\b(?:[Aa]bout|nearly|almost|roughly|approximately|exactly|fractions?|equals|simplif\w+ to) $"
)
_FACTOR = re.compile(r"\)?\s?pi\b|\)[b-z]\b")


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeio" or noun.startswith("hour") else "a"


def _part_of_unit(match: re.Match[str], british: bool) -> list[Piece] | str:
    """A fraction of a unit: "1/2 tsp", "2 1/2 oz."."""
    whole, above, below = match[1], int(match[2]), int(match[3])
    if (
        match[4] == "s"
        and match[0].endswith("s")
        and match[0][-2].isdecimal()
        and 1 < above < below
    ):
        part = fraction(above, below, behind_whole=bool(whole))
        return f"{plain(whole.strip(' -'), british)} and {part}" if whole else part  # "2/3s"
    exposure = above == 1 and match[4].rstrip(".") in ("s", "sec") and not whole  # "f/4, 1/250 s"
    if not 0 < above < below or (below > 64 and not exposure):
        return match[0]
    if match[4].startswith("mpg"):  # in towns and on highways
        words = f"{cardinal(above)} {cardinal(below)} miles per gallon"
        return [Piece(words, match.start(), match.start(4) + 3)]
    if match[4] == '"' and is_quoted(match):
        return match[0]
    unit, point = without_point(match, match[4])
    spoken = unit_name(unit, many=bool(whole) and not is_attributive(match))
    part = fraction(above, below, behind_whole=bool(whole))
    if whole:
        part = f"{plain(whole.strip(' -'), british)} and {part}"
    elif (above > 1 or exposure) and not (
        is_attributive(match) or match.string.startswith("-", match.end())
    ):
        part += f" of {_article(spoken)}"
    return [
        Piece(f"{part} ", match.start(), match.start(4)),
        Piece(spoken + point, match.start(4), match.end()),
    ]


def _negative(match: re.Match[str], british: bool) -> str:
    return "minus "


def _is_rating(match: re.Match[str], before: str) -> bool:
    """Whether the words around call it one: "I rate it 8/10", "it's a 7/10", "7/10 at best"."""
    after = _RATED_AFTER.match(match.string, match.end())
    if after and (after[0].startswith(" ") or _RATED_BEFORE.search(before)):
        return True
    return bool(_RATING.search(before))


def _fraction(match: re.Match[str], british: bool) -> str:
    whole, above, below = match[1], match[2], match[3]
    if re.fullmatch(r"[\d.,]+", f"{above}{below}") and not (above + below).isdigit():
        joint = "out of" if below in ("5", "10", "100") or "." in below else "over"
        return f"{plain(above, british)} {joint} {plain(below, british)}"
    high, low = int(above), int(below)
    padded = (
        whole is None and (above[0] == "0" or below[0] == "0") and len(above) == len(below) == 2
    )
    month, day = (low, high) if british else (high, low)
    if padded and 0 < month < 13 and 0 < day < 32:
        return day_of_month(month, day, british)  # "09/14"
    if (high, low) in _NOT_FRACTIONS:
        return f"{cardinal(high)} {cardinal(low)}"
    before = match.string[max(0, match.start() - 60) : match.start()]
    if match[4] and low > 1:
        part = fraction(high, low, behind_whole=bool(whole))
        return f"{plain(whole.strip(' -'), british)} and {part}" if whole else part
    rated = low in (5, 10, 20, 100) and high <= low and whole is None and _is_rating(match, before)
    people = low in (5, 10, 20) and high < low and whole is None
    polled = people and _POLLED.match(match.string, match.end())
    if _ODDS.match(match.string, match.end()) or (high > low and _ODDS_BEFORE.search(before)):
        return f"{cardinal(high)} to {cardinal(low)}"
    if rated or polled or low == 100 or (low == 10 and high == 10):
        return f"{cardinal(high, british)} out of {cardinal(low, british)}"
    named = low <= 20 or low in (25, 32, 50, 64, 1000)
    named = named or bool(_PART_OF.match(match.string, match.end()) or _PART_BEFORE.search(before))
    christmas = (high, low) == (12, 25) and not _PART_OF.match(match.string, match.end())
    dated = not named or low == 1 or christmas
    dated = dated and whole is None and low <= 31 and 1 <= high <= 12
    if dated and not match.string[match.end() :].lstrip().startswith("="):
        return day_of_month(high, low, british)
    factor = 1 < low <= 10 and not whole and _FACTOR.match(match.string, match.end())
    if factor:
        return fraction(high, low) + " " * match.string[match.end() : match.end() + 1].isalpha()
    if high >= low or low < 2 or not named or (whole is None and high > 31):
        joint = "over" if whole is None else "slash"
        apart = " " * match.string[match.end() : match.end() + 1].isalpha()
        return f"{whole or ''}{cardinal(high, british)} {joint} {cardinal(low, british)}{apart}"
    part = fraction(high, low, behind_whole=bool(whole))
    part += " " * match.string[match.end() : match.end() + 1].isalpha()
    return f"{plain(whole.strip(' -'), british)} and {part}" if whole else part


def _one_in(match: re.Match[str], british: bool) -> str:
    """A small chance: "1/10,000"."""
    return f"one in {plain(match[1], british)}"


def _slashes(match: re.Match[str], british: bool) -> list[Piece]:
    """The slashes of several numbers: "12/45/120 ms"."""
    return [
        Piece(" slash ", position, position + 1)
        for position in range(*match.span())
        if match.string[position] == "/"
    ]


FRACTIONS: tuple[Rule, ...] = (
    (re.compile(r"(?<![\w.,/])1/(\d{1,3}(?:,\d{3})+)(?![\w/]|[.,]\d)"), _one_in),
    (re.compile(r"(?<![\w.,/])\d{1,4}(?:/\d{1,4}){2,5}(?![\w/]|[.,]\d)"), _slashes),
    (
        re.compile(r"(?:(?<=\b[Pp]hase )|(?<=\b[Gg]rade )|(?<=\b[Ff]lat ))(\d)/(\d)(?![\w/])"),
        side_by_side,
    ),
    (re.compile(rf"(?:(?<=/\d)|(?<=/\d\d))({DASH})(?=(?:\d{{1,3}}\s)?\d{{1,2}}/\d)"), to_next),
    (
        re.compile(
            rf"(?:(?<=\d\s\d/\d)|(?<=[1357]/[2348]))({DASH})(?=\d{{1,3}}\s[a-z])"
            rf"|(?<![/.,]\d)(?<=\d)({DASH})(?=\d{{1,2}}\s\d/\d)"
        ),
        to_next,
    ),
    (re.compile(rf"(?<=\d(?:st|nd|rd|th))({DASH})(?=\d{{1,3}}(?:st|nd|rd|th)\b)"), to_next),
    (
        re.compile(
            r"(?<![\w.,/])(\d{1,2})/(2|4|8|16)(?=[- ](?:time|signature|meter|beat|blues|waltz"
            r"|rhythm|groove|feel|march|bar)\b|,? (?:to|and|or|then) \d{1,2}/(?:2|4|8|16)[- ]time)"
            r"|(?<=\b[Ii]n )(\d{1,2})/([48])(?=[.,;)]|\s(?:at|and|with)\b|$)"
        ),
        side_by_side,
    ),
    (re.compile(r"(?<![^\s(=])[-−](?=(?:\d{1,3}\s)?\d{1,3}/\d{1,4}(?![\w/]|[.,]\d))"), _negative),
    (re.compile(r"(?:(?<=\d/\d)|(?<=\d/\d\d))\"-(?=\d)"), apart),
    (
        re.compile(
            rf"(?<![\w.,/])(\d{{1,3}}(?:\s|-(?=\d/\d)))?(\d{{1,2}})/(\d{{1,4}})[\s-]?({UNIT_AFTER_FRACTION})"
        ),
        _part_of_unit,
    ),
    (
        re.compile(
            r"(?<![\w.,])(\d{1,3}(?:\s|-(?=\d/\d)))?(\d{1,3}|\d{1,3}\.\d{1,3})/(\d{1,4}|(?:4|5|10)\.0)"
            r"(nds?|rds?|ths?)?(?![\d/]|[.,]\d|(?!in\b)[A-Za-z]{3}|[A-Z])"
        ),
        _fraction,
    ),
)
