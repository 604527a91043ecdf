"""Days, months and seasons."""

from __future__ import annotations

import re

from ..tracked import Piece, Replacement
from .number_forms import DASH, NOUN_AFTER, START
from .numbers import cardinal, ordinal, year
from .rules import Rule

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_MONTH = "|".join(MONTHS)


def day_of_month(month: int, day: int, british: bool) -> str:
    """A day without its year: "May fifth", or "the fifth of May" in British English."""
    name = MONTHS[month - 1]
    return f"the {ordinal(day)} of {name}" if british else f"{name} {ordinal(day)}"


def _date_words(month: int, day: int, year_text: str, british: bool) -> str:
    return f"{day_of_month(month, day, british)}, {year(int(year_text), british)}"


def _is_date(month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= 31


def _iso_date(match: re.Match[str], british: bool) -> Replacement:
    month, day = int(match[3]), int(match[4])
    if not _is_date(month, day):
        return match[0]
    words = _date_words(month, day, match[1], british)
    return words + (", " if match[5] else "")


def _slash_date(match: re.Match[str], british: bool) -> str:
    """Numbers of month, day and year, or of day and month where only that can be or is British."""
    month, day = int(match[1]), int(match[3])
    if (british and day <= 12) or month > 12:
        month, day = day, month
    if not _is_date(month, day) or (match[2] == "-" and len(match[4]) == 2):
        return match[0].replace("/", " slash ")
    century = "" if len(match[4]) == 4 else ("19" if int(match[4]) > 50 else "20")
    return _date_words(month, day, century + match[4], british)


def _hyphened_date(match: re.Match[str], british: bool) -> Replacement:
    """A day with the name of its month: "05-May-2020"."""
    day, name = int(match[1]), match[2].capitalize()
    if not 1 <= day <= 31:
        return match[0]
    month = next(month for month in MONTHS if month.startswith(name))
    century = "" if len(match[3]) == 4 else ("19" if int(match[3]) > 50 else "20")
    return f"the {ordinal(day)} of {month}, {year(int(century + match[3]), british)}"


def _month_of_year(match: re.Match[str], british: bool) -> str:
    """A month by its number: "05/2020"."""
    return f"{MONTHS[int(match[1]) - 1]} {year(int(match[2]), british)}"


def _dotted_date(match: re.Match[str], british: bool) -> str:
    """Points are written where the day comes first."""
    day, month = int(match[1]), int(match[2])
    if month > 12:
        day, month = month, day
    return _date_words(month, day, match[3], british) if _is_date(month, day) else match[0]


def _month_day(match: re.Match[str], british: bool) -> Replacement:
    day = int(match["day"])
    if not 1 <= day <= 31:
        return match[0]
    end = match.end("suffix") if match["suffix"] else match.end("day")
    if british:
        words = Piece(f"the {ordinal(day)} of {match['month']}", match.start(), end)
    else:
        words = Piece(ordinal(day), match.start("day"), end)
    return [words, *_year_pieces(match, end, british)]


def _day_month(match: re.Match[str], british: bool) -> Replacement:
    day = int(match["day"])
    if not 1 <= day <= 31:
        return match[0]
    words = f"{'' if match['the'] else 'the '}{ordinal(day)} of "
    piece = Piece(words, match.start("day"), match.start("month"))
    return [piece, *_year_pieces(match, match.end("month"), british)]


def _year_pieces(match: re.Match[str], end: int, british: bool) -> list[Piece]:
    """The year of a date whose day and month end at `end`, after a comma."""
    if not match["year"]:
        return []
    comma = Piece(", ", end, match.start("year"))
    return [comma, Piece(year(int(match["year"]), british), *match.span("year"))]


def _day_alone(match: re.Match[str], british: bool) -> str:
    """A day of the month behind its name, "Monday 2nd"."""
    return f"the {ordinal(int(match[1]))}"


def _month_days(match: re.Match[str], british: bool) -> Replacement:
    """Days of one month: "December 1-5"."""
    days = [int(match["first"]), int(match["last"])]
    if not 1 <= days[0] < days[1] <= 31:
        return match[0]
    words = " to ".join(("the " if british else "") + ordinal(day) for day in days)
    end = match.end("suffix") if match["suffix"] else match.end("last")
    return [Piece(words, match.start("first"), end)]


def _days_month(match: re.Match[str], british: bool) -> Replacement:
    """Days of one month: "1-5 December"."""
    days = [int(match["first"]), int(match["last"])]
    if not 1 <= days[0] < days[1] <= 31:
        return match[0]
    words = f"{'' if match['the'] else 'the '}{ordinal(days[0])} to the {ordinal(days[1])} of "
    return [Piece(words, match.start("first"), match.start("month"))]


def _month_year(match: re.Match[str], british: bool) -> list[Piece]:
    return [Piece(year(int(match[3]), british), *match.span(3))]


def _season(match: re.Match[str], british: bool) -> Replacement:
    """A year that begins in the middle of one: "the 2021/22 season"."""
    first, last = int(match[1]), int(match[2])
    if last not in (first + 1, (first + 1) % 100):
        return match[0]
    if last in (0, first + 1):
        words = year(first + 1, british)
    else:
        words = f"oh {cardinal(last)}" if last < 10 else cardinal(last)
    return f"{year(first, british)} {words}"


def _dates_range(match: re.Match[str], british: bool) -> list[Piece]:
    """The dash between dates: "Feb. 28–Mar. 3"."""
    dash = next(group for group in (1, 2, 4, 5) if match[group])
    return [Piece(" to ", *match.span(dash))]


_HAPPENS = re.compile(
    r"\b(?:arriv|begin|clos|depart|deliver|due|end|expir|fl[iey]|held|happen|launch|leav|left|meet|met"
    r"|open|releas|return|schedul|ship|start|tak|took|visit)\w*\s(?:\w+\s){0,2}$"
)
_CLAUSE_ENDS = re.compile(r"\s*$|[,;:!?]|\.(?!\d)|\s(?:at|we|they|he|she|it|I|through|until)\b")


def _is_on_day(match: re.Match[str]) -> bool:
    """Whether "on 3/4" names a day: something happens then, or the clause ends with it."""
    if _CLAUSE_ENDS.match(match.string, match.end(2)):
        return True
    happens = _HAPPENS.search(match.string, max(0, match.start() - 40), match.start())
    return bool(happens and not NOUN_AFTER.match(match.string, match.end(2)))


def _weekdays_date(match: re.Match[str], british: bool) -> Replacement:
    """A day and a month behind the name of the day and the like: "Sat., 5/6"."""
    first, second = int(match[1]), int(match[2])
    month, day = (second, first) if british else (first, second)
    before = match.string[match.start() : match.start(1)].strip().lower()
    fraction = first < second and second in (2, 3, 4, 8, 16)
    if before == "on" and _is_on_day(match):
        fraction = False
    spoken = fraction or (first, second) == (9, 11)
    spoken = spoken and before in ("on", "before", "after", "since")
    if not _is_date(month, day) or spoken or (before == "by" and first < second):
        return match[0]
    pieces = [Piece(day_of_month(month, day, british), match.start(1), match.end(2))]
    for other in _MONTH_AND_DAY.finditer(match.string, *match.span(3)):
        month, day = (
            int(number) for number in (other.groups()[::-1] if british else other.groups())
        )
        if _is_date(month, day):
            pieces += _dash_before(other)
            pieces.append(Piece(day_of_month(month, day, british), *other.span()))
    return pieces


_DASH_BEFORE = re.compile(rf"{DASH}$")


def _dash_before(match: re.Match[str]) -> list[Piece]:
    """The dash of a range before the match, which is "to"."""
    dash = _DASH_BEFORE.search(match.string, max(0, match.start() - 3), match.start())
    return [Piece(" to ", *dash.span())] if dash else []


OF_WHOLE = r"\sof\b(?!\s(?:this|that|next|last|the\s(?:same|following|previous)|\d{4})\b)"
"""What follows a fraction but no day of a month: "9/27 of the class"."""
_MONTH_AND_DAY = re.compile(r"(\d{1,2})/(\d{1,2})")
_FINE = frozenset((2, 3, 4, 5, 6, 8, 10, 12, 16, 32, 64))  # denominators of measures


def _slash_days(match: re.Match[str], british: bool) -> Replacement:
    """Two days of a year, "11/28–12/2", unless both are fractions: "1/4–1/2"."""
    days = [(int(match[1]), int(match[2])), (int(match[4]), int(match[5]))]
    if british:
        days = [(month, day) for day, month in days]
    if not all(_is_date(*day) for day in days) or all(a < b and b in _FINE for a, b in days):
        return match[0]
    first, last = (day_of_month(*day, british) for day in days)
    return [
        Piece(first, match.start(), match.end(2)),
        Piece(" to ", *match.span(3)),
        Piece(last, match.start(4), match.end()),
    ]


DATES: tuple[Rule, ...] = (
    (
        re.compile(
            rf"(?:\b(?:{_MONTH})\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?|\b\d{{4}})({DASH})(?=(?:{_MONTH})\s\d)"
            rf"|\b\d{{1,2}}\s(?:{_MONTH})(?:\s\d{{4}})?({DASH})(?=\d{{1,2}}\s(?:{_MONTH})\b)"
            rf"|\b\d{{1,2}}([./])\d{{1,2}}\3(?:\d{{4}})?({DASH})(?=\d{{1,2}}\3\d{{1,2}}\3\d{{4}}\b)"
            r"|\b\d{4}-\d\d-\d\d(\s?[–—]\s?|\s-\s)(?=\d{4}-\d\d-\d\d\b)"
        ),
        _dates_range,
    ),
    (
        re.compile(
            r"\b(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,?|COB|EOD"
            r"|\d{1,2}\s?[ap]\.?m\.?(?:\s(?:GMT|UTC|BST|CES?T|[ECMP][SD]?T))?"
            r"|(?i:(?:birthday|anniversary|deadlines?|dates?)(?: is| are|,|:)"
            r"|(?:e-?mail|letter|message|memo|note|meeting|invoice|statement) (?:of|dated|from)"
            r"|(?:RSVP|repl(?:y|ies)|respond|register|apply|enrol+|sign up|submit(?:ted)?"
            r"|(?:turn|hand|send)(?:ed)? (?:it |them )?in|postmarked|received|finish(?:ed)?"
            r"|completed?|done|ready|due)(?: (?!by\b)[a-z]+){0,3} by"
            r"|due(?: on)?|on|by|before|after|since|until|till|through|starting|effective|except"
            r"|expires|ends|begins|starts|opens|closes|ships|shipped|arrives|arriving|delivered|departs|launches"
            r"|week of|as of)) (\d{1,2})/(\d{1,2})"
            rf"((?:(?:, |,? (?:and|or|&) |{DASH})\d{{1,2}}/\d{{1,2}}(?!{OF_WHOLE}))*)"
            rf"(?![\w/]|[.,]\d|{OF_WHOLE})"
        ),
        _weekdays_date,
    ),
    (
        re.compile(
            rf"{START}(\d{{1,2}})/(\d{{1,2}})({DASH})(\d{{1,2}})/(\d{{1,2}})(?![\w/-]|[.,]\d)"
        ),
        _slash_days,
    ),
    (
        re.compile(r"(?<![\w.,/-])((?:1[89]|20)\d\d)/((?:19|20)?\d\d)(?![\d/%-]|[.,]\d)"),
        _season,
    ),
    (
        re.compile(r"(?<![\d/-])(\d{4})([-/])(\d{1,2})\2(\d{1,2})(?:(T)(?=\d\d:)|(?![\w/-]))"),
        _iso_date,
    ),
    (
        re.compile(rf"(?<![$£€¥]){START}(\d{{1,2}})([/-])(\d{{1,2}})\2(\d{{4}}|\d\d)(?![\d/-])"),
        _slash_date,
    ),
    (
        re.compile(
            rf"{START}(\d{{1,2}})-((?i:{'|'.join(m[:3] for m in MONTHS)}))[a-z]*-(\d{{4}}|\d\d)\b"
        ),
        _hyphened_date,
    ),
    (re.compile(r"(?<![\w.,/-])(0?[1-9]|1[0-2])/((?:19|20)\d\d)(?![\w/-]|[.,]\d)"), _month_of_year),
    (
        re.compile(r"(?<![\w.])(\d{1,2})\.(\d{1,2})\.((?:1[5-9]|20)\d\d)(?!\w|\.\d)"),
        _dotted_date,
    ),
    (
        re.compile(
            rf"\b(?:{_MONTH})\s+(?P<first>\d{{1,2}})(?:st|nd|rd|th)?"
            rf"(?:{DASH}|\s(?:to|through)\s(?=\d{{1,2}}(?:[.,;)]|$|\s(?:in|at|and|for|with)\b)))"
            r"(?P<last>\d{1,2})(?P<suffix>st|nd|rd|th)?(?![:\w%-]|\.\d)"
        ),
        _month_days,
    ),
    (
        re.compile(
            rf"(?P<the>\b[Tt]he\s+)?{START}(?P<first>\d{{1,2}})(?:st|nd|rd|th)?{DASH}(?P<last>\d{{1,2}})"
            rf"(?:st|nd|rd|th)?\s+(?P<month>{_MONTH})\b"
        ),
        _days_month,
    ),
    (
        re.compile(
            rf"\b(?P<month>{_MONTH})\s+(?P<day>\d{{1,2}})(?P<suffix>st|nd|rd|th)?"
            rf"(?![\w%]|[:.]\d|{DASH}\d|\s(?:BCE?|CE|AD|B\.C|A\.D)\b)(?:,?\s+(?P<year>\d{{4}})\b)?"
        ),
        _month_day,
    ),
    (
        re.compile(
            rf"(?P<the>\b[Tt]he\s+)?{START}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?"
            rf"(?P<month>{_MONTH})\b(?:,?\s+(?P<year>\d{{4}})\b)?"
        ),
        _day_month,
    ),
    (re.compile(rf"\b({_MONTH})(,?)\s+(1\d{{3}}|20\d\d)\b"), _month_year),
    (
        re.compile(
            r"(?:(?<=\b[MFS][oru][ni]day )|(?<=\bTuesday )|(?<=\bThursday )|(?<=\bSaturday )"
            r"|(?<=\bWednesday ))(\d{1,2})(?:st|nd|rd|th)\b"
        ),
        _day_alone,
    ),
)
"""Dates with a day or a month."""
