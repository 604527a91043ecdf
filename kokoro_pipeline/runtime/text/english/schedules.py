"""Times and dates as schedules, messages and citations shorten them: "Tu/Th 2-3:15", "two yrs."."""

from __future__ import annotations

import re

from ..tracked import Piece
from .dates import MONTHS
from .rules import Phrase, kept_point
from .tables import table

_SHORT_MONTHS = {name[:3].upper(): name for name in MONTHS}
_MONTH = "|".join(
    sorted(
        {*MONTHS, *(short for kind, short, _ in table("abbreviations") if kind == "month")},
        key=len,
        reverse=True,
    )
)
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}\.?"
_SPANS = {
    **{"yr": "year", "wk": "week", "mo": "month", "hr": "hour", "min": "minute", "sec": "second"},
    **{"yrs": "years", "wks": "weeks", "mos": "months", "hrs": "hours", "mins": "minutes"},
    "secs": "seconds",
}
_SPAN_STARTS = (
    "an?|the|this|that|next|nxt|last|past|every|each|ea\\.?|half|whole|first|second|third|final|prior"
    "|previous|calendar|fiscal|school|academic|tax|model|leap|new|one"
)
_AGES = "yr|mo|wk|hr|min|sec"
_TIMES_BY_LETTER = {"MWF": "Monday, Wednesday, Friday", "MW": "Monday, Wednesday"}
_NUMBERED_CENTURY = r"\d(?:st|nd|rd|th)"


def _span(match: re.Match[str]) -> list[Piece]:
    """A span of time behind a word: "two yrs. ago", "next wk"."""
    group = next(group for group in (1, 2, 3) if match[group])
    return [Piece(_SPANS[match[group]] + kept_point(match), match.start(group), match.end())]


def _age(match: re.Match[str]) -> list[Piece]:
    """A unit of an age or a length: "a 6-mo.-old baby", "5-7 yr. olds", "8wk-old"."""
    return [Piece(f" {_SPANS.get(match[1], match[1])} ", *match.span())]


def _age_before(match: re.Match[str]) -> str:
    """The unit before what it measures: "a 4.5-sec. 40"."""
    return f"-{_SPANS[match[1]]}"


def _for_days(match: re.Match[str]) -> str:
    """How long a medicine is taken: "x10d"."""
    name = {"d": "day", "w": "week", "h": "hour"}.get(match[2]) or _SPANS[match[2]]
    return f"for {match[1]} {name}{'s' * (match[1] != '1')}"


def _day_of_month(match: re.Match[str]) -> str:
    """A day and the month in capitals: "12MAR", "05APR24"."""
    year = match[3] and f" {match[3] if len(match[3]) == 4 else '20' + match[3]}"
    return f"{int(match[1])} {_SHORT_MONTHS[match[2].upper()]}{year or ''}"


def _night(match: re.Match[str]) -> str:
    """The night between two days, "5/6 June", if the second is the day after."""
    first, last = int(match[1]), int(match[2])
    return f"{first}–{last}" if last == first + 1 else match[0]


def _meeting_days(match: re.Match[str]) -> str:
    return _TIMES_BY_LETTER.get(match[0], "Tuesday, Thursday")


_DAYS = {
    **{"Mo": "Monday", "Tu": "Tuesday", "We": "Wednesday", "Th": "Thursday", "Fr": "Friday"},
    **{"Sa": "Saturday", "Su": "Sunday"},
}


def _days(match: re.Match[str]) -> str:
    """Days by two letters, as signs on doors have them: "Mo–Fr 9–5, Sa 10-2"."""
    return " to ".join(_DAYS[day] for day in re.findall(r"[A-Z][a-z]", match[0]))


_HOURS = r"\s\d{1,2}(?:[:.]\d\d)?\s?(?:[ap]\.?m\.?)?\s?[-–]\s?\d"
_LETTERS = {"M": "Monday", "T": "Tuesday", "Tu": "Tuesday", "W": "Wednesday", "Th": "Thursday"}


def _letters(match: re.Match[str]) -> str:
    """Days of lessons by their letters: "T/Th", "M/W/F"."""
    return ", ".join(_LETTERS.get(day, "Friday") for day in match[0].split("/"))


_CLOCK = r"\d{1,2}(?::[0-5]\d|\s?[ap]\.?m\b)"

SCHEDULES: tuple[Phrase, ...] = (
    # "Oct.9"
    (
        re.compile(
            r"\b(Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\."
            r"(?=(?:[12]?\d|3[01])(?:st|nd|rd|th)?(?![\w%/:-]|\.\d))"
        ),
        r"\1. ",
    ),
    # "Jan. 6 - 9:00 a.m."
    (
        re.compile(rf"(\b(?:{_MONTH})\.?\s\d{{1,2}}(?:st|nd|rd|th)?)\s[-–—]\s(?={_CLOCK})"),
        r"\1, ",
    ),
    (
        re.compile(
            rf"(?<![\w/–-])(?:{'|'.join(_DAYS)})\s?[-–]\s?(?:{'|'.join(_DAYS)})\b(?=,?:?\s\d|[.;]|$)"
            rf"|(?<![\w/–-])(?:Mo|Tu|Th|Fr|Sa|Su)(?={_HOURS})"
        ),
        _days,
    ),
    (re.compile(r"(?<=\d[ap]m)\s/\s(?=[A-Z\d])"), ", "),
    (re.compile(r"(?<![\w/])(?:M/W(?:/F)?|Tu?/Th)(?![\w/])"), _letters),
    (re.compile(r"(?<=\d{4})[–-](?=\))"), " to the present"),
    (re.compile(r"\bMWF?\b(?=,?\s\d{1,2}(?::|\s?[-–]))"), _meeting_days),
    (re.compile(r"\bT(?:u|ue)?/?(?:Th|Thu|R)\b(?=,?\s\d{1,2}(?::|\s?[-–]))"), _meeting_days),
    (
        re.compile(r"(?<=\d, )F(?=\s\d{1,2}(?::\d\d)?\s?(?:[ap]m?)?\s?[-–]\s?\d)"),
        "Friday",
    ),
    (re.compile(rf"(?<={_NUMBERED_CENTURY})\s?[–-]\s?(?={_DAY}\s\d)"), " to "),
    (re.compile(rf"(?<={_NUMBERED_CENTURY})/(?=(?:early|mid|late)\b)"), " or "),
    (re.compile(rf"(?<={_NUMBERED_CENTURY})/(?={_NUMBERED_CENTURY}\s(?:c\.|cent))"), " or "),
    (
        re.compile(rf"(?<![\w.,/:-])(\d\d?)({'|'.join(_SHORT_MONTHS)})(\d{{4}}|\d\d)?(?![\w-])"),
        _day_of_month,
    ),
    (
        re.compile(rf"(?<![\w.,/:-])(\d\d?)/(\d\d?)(?=\s(?:{_MONTH})\b)"),
        _night,
    ),
    (
        re.compile(
            r"(\b(?i:on|by|until|till|til|before|after|from|since|due|ends?|starts?"
            r"|midnight|w/c|deadline|dated)) "
            r"(?!24/7)(1[3-9]|2\d|3[01])/(1[0-2]|0?[1-9])(?![\w/-]|[.,]\d)"
        ),
        lambda m: f"{m[1]} {m[2]} {MONTHS[int(m[3]) - 1]}",
    ),
    (re.compile(r"(?<=\bFY\d\d)\s?[–-]\s?(?=\d\d\b)"), " to "),
    (re.compile(r"(?<![\w.$-])c(?=1\d{3}\b(?!\.\d|,\d))"), "circa "),
    (
        re.compile(r"(\b(?:pp?|ll?|vv?|§§?|pages?|lines?)\.?\s?\d{1,4})\s?ff\b\.?"),
        lambda m: f"{m[1]} and following{kept_point(m)}",
    ),
    # "He is 5 y.o.", but "a 5 y.o. boy"
    (
        re.compile(
            r"(\b(?:is|was|am|are|turned|aged)\s\d{1,3})[\s-]?(?:y/o|yo|y\.o\.)"
            r"(?!\w|\s(?!(?:and|but|when|now|with|who)\b)[a-z])"
        ),
        r"\1 years old",
    ),
    (
        re.compile(rf"(?<=\d)[\s-]?({_AGES})\.?(?:-(?=old|long)|\s(?=olds\b))"),
        _age,
    ),
    (re.compile(rf"(?<=\d)-({_AGES})\.(?=\s[a-z\d])"), _age_before),
    # Of medicines and complaints: "x10d".
    (
        re.compile(
            r"(?<=[A-Za-z] )x\s?(\d{1,2})\s?(d|h|wk|mo|hr|(?<=\d)w)s?\b"
            r"(?=[.,;)](?!\w)|$| (?:and|then|with|w/|prn|PRN|after|before|now|or|but|for)(?!\w))"
        ),
        _for_days,
    ),
    (
        re.compile(
            r"(?<=[a-z] )(yrs|wks|hrs|mins|secs)\b(?!['’-])\.?"
            r"|\b(?i:two|three|four|five|six|eight|nine|ten|few|several|many|couple) (mos)\b\.?"
            rf"|\b(?i:{_SPAN_STARTS})\s(yr|wk|hr)\b(?!['’/-])\.?"
        ),
        _span,
    ),
)
"""Phrases, each with what it is replaced by, before abbreviations are expanded."""
