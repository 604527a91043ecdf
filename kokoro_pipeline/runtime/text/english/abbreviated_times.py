"""Months and days by their abbreviations: "Mon-Fri", "Tue/Thu", "3 Jan"."""

from __future__ import annotations

import re

from ..tracked import Piece, Tracked
from .abbreviation_points import DAYS, MONTHS

_BARE_MONTH = re.compile(
    rf"\b({'|'.join(sorted(MONTHS, key=len, reverse=True))})(?=\s+'?\d)"
    r"|(?:(?<=\b\d )|(?<=\b[12]\d )|(?<=\b3[01] )|(?<=\d(?:st|nd|rd|th) ))"
    rf"({'|'.join(MONTHS)})(?![\w'’.])"
)
_MONTH_NAMES = "|".join(sorted({*MONTHS, *MONTHS.values(), "May"}, key=len, reverse=True))
_MONTH_FOLLOWS = re.compile(rf"\s+(?:{_MONTH_NAMES})\b")
_BARE_DAY = re.compile(
    rf"\b({'|'.join(sorted(DAYS, key=len, reverse=True))})(?=,?\s+(?:(?:{_MONTH_NAMES})\b"
    rf"|\d{{1,2}}(?:[:/]\d|\s?[ap]\.?m\b|(?:st|nd|rd|th)\b|\s?[-–]\s?(?:\d|noon\b)"
    rf"|(?:st|nd|rd|th)?\s+(?:{_MONTH_NAMES})\b)))"
)
#: Days that are no other word, and those that are a verb or a name elsewhere.
_LONE_DAY = re.compile(
    r"(?<![\w.'’-])(?:Thu(?:rs?)?|Tues?|Weds|Fri)(?![\w.-])"
    r"|(?<=[a-z,&] )(?:Mon|Wed|Sat)(?![\w.-]|\s[A-Z])"
    r"|(?:^|(?<=^\s)|(?<=[.;,!] ))(?:Mon|Wed|Sat|Sun)(?=:\s)"
)
_NAMES_OF_TIMES = {**MONTHS, "May": "May", **DAYS}
_TIME_NAMES = "|".join(sorted({*_NAMES_OF_TIMES, *_NAMES_OF_TIMES.values()}, key=len, reverse=True))
_DAYS_JOINED = re.compile(
    rf"\b(?:{'|'.join(DAYS)})(?:(?:, |,? (?:and|or|to|thru|through|&) )(?:{'|'.join(DAYS)}))+\b"
    r"(?!\.|\s[A-Z])"
)
_DAY = re.compile(rf"\b(?:{'|'.join(DAYS)})\b")
_SLASHED_TIMES = re.compile(
    rf"\b(?:{_TIME_NAMES})(?:\.?/(?:{_TIME_NAMES}))+\b(?:\.(?=[,;)]|\s[a-z\d]))?"
)
_FROM_TO = re.compile(
    rf"\b({_TIME_NAMES})(\.?\s?[-–—]\s?)({_TIME_NAMES})\b(?!-)(\.(?=[,;:)]|\s[a-z\d]))?"
)


def expand_joined_times(text: Tracked) -> Tracked:
    """Expand months and days that are joined with others: "Mon-Fri", "Sat & Sun"."""
    text = text.sub(_SLASHED_TIMES, _times_in_turn).sub(_DAYS_JOINED, _days_joined)
    return text.sub(_FROM_TO, _from_to)


def expand_bare_times(text: Tracked) -> Tracked:
    """Expand months and days without a point, where a number or a month shows what they are."""
    text = text.sub(_BARE_MONTH, lambda m: MONTHS[m[0]])
    return text.sub(_BARE_DAY, lambda m: DAYS[m[1]]).sub(_LONE_DAY, lambda m: DAYS[m[0]])


def is_last_day(match: re.Match[str]) -> bool:
    """Whether it is a day, with no date behind it."""
    return match[1] in DAYS and not _MONTH_FOLLOWS.match(match.string, match.end())


def _times_in_turn(match: re.Match[str]) -> str:
    """Days or months with slashes: "Tue/Thu"."""
    names = (name.rstrip(".") for name in match[0].split("/"))
    return " ".join(_NAMES_OF_TIMES.get(name, name) for name in names)


def _days_joined(match: re.Match[str]) -> list[Piece]:
    """Days by their abbreviations: "Sat & Sun", "Mon, Wed and Fri"."""
    days = _DAY.finditer(match.string, match.start(), match.end())
    return [Piece(DAYS[day[0]], *day.span()) for day in days]


def _from_to(match: re.Match[str]) -> list[Piece]:
    """A range of months or days: "Mon-Fri"."""
    first, last = (_NAMES_OF_TIMES.get(match[group], match[group]) for group in (1, 3))
    return [
        Piece(first, *match.span(1)),
        Piece(" to ", *match.span(2)),
        Piece(last, *match.span(3)),
        *([Piece("", *match.span(4))] if match[4] else []),
    ]
