"""Times of day, durations and what looks like them."""

from __future__ import annotations

import re

from ..tracked import Piece, Replacement
from .number_forms import (
    DASH,
    END,
    NUMBER,
    START,
    apart_within,
    digit_by_digit,
    is_attributive,
    plain,
)
from .numbers import cardinal, in_pairs, year
from .rules import Rule

_HALF_DAY = r"([ap]\.?m|[AP]\.?[Mm])\b"  # but pM is a concentration
_HOUR = r"(?:1[0-2]|0?[1-9])"
_ZONES = r"(?:GMT|UTC|BST|CET|CEST|E[SD]?T|C[SD]T|M[SD]T|P[SD]?T)"

_RATIO_BEFORE = re.compile(
    r"\b(?:(?:ratio|dilut(?:ed?|ing|ion)|scale|slope|gradient|odds|proportion|aspect|outnumbered)\b"
    r"[^.!?;]{0,25}|\d:\d{1,4}\s{0,2}(?:=|::|equals)\s{0,2}"
    r"|(?:mix|mixture|split|parts?)\b(?:[^.!?;]{0,22}\s\(?)?(?<!at ))$",
    re.IGNORECASE,
)
_RATIO_AFTER = re.compile(
    r"\s(?:ratio|scale|slope|gradient|odds|mix|mixture|dilution|aspect|shot|favou?rites?"
    r"|(?:(?:reverse|forward|stock|share)\s){0,2}split)\b|\s{0,2}(?:=|::|equals)\s{0,2}\d{1,4}:\d"
)


_STANDARDS = r"(?:ISO|IEC|EN|E\.N|DIN|IEEE|ANSI|BS|ASTM|NF)(?:[/ ](?:ISO|IEC|EN|TS|TR|IEEE))*[ -]?"


def _is_ratio(match: re.Match[str]) -> bool:
    """Whether words beside two numbers with a colon call them a ratio."""
    before = match.string[max(0, match.start() - 50) : match.start()]
    return bool(_RATIO_BEFORE.search(before) or _RATIO_AFTER.match(match.string, match.end()))


_POINT_IN_TIME = re.compile(
    r"\b(?:[Aa]t|[Bb]y|until|till|[Ff]rom|[Ss]ince|[Aa]fter|[Bb]efore|[Bb]etween|\d\sto|[Tt]ime:?"
    r"|clock (?:read|showed)s?)\s$"
)
_LASTS = re.compile(
    r"\b(?:t(?:ook|akes?|aking)|last(?:s|ed|ing)?|duration|elapsed|runtime|run time|length"
    r"|(?:finished|completed) in|spent|uptime)\b:?\s(?:(?:of|is|was|about|only|just|for)\s){0,2}$",
    re.IGNORECASE,
)
_SCHEDULED = r"(?:train|bus|coach|ferry|tram|flight|sailing|departure|service)"
_TO_HALF_DAY = re.compile(rf"\sto\s\d{{1,2}}(?::\d\d)?\s?{_HALF_DAY}")


def _clock(match: re.Match[str], british: bool) -> str:
    before = match.string[max(0, match.start() - 50) : match.start()]
    if _is_ratio(match) and not (match[4] or match[5] or match[2].startswith("0")):
        return match[0]
    hour, minute = int(match[1]), int(match[2])
    if _is_duration(match, before):
        s = "" if is_attributive(match) else "s"
        return _hours_minutes_seconds(hour, minute, match[3], british, s)
    words = cardinal(hour) + _minutes(minute)
    if not (minute or match[4]):
        if not 1 <= hour <= 12:
            words += " hundred"
        elif match[3] and not before.endswith(("at ", "by ")):
            words += " hours" if hour > 1 else " hour"
        elif not (match[5] or _TO_HALF_DAY.match(match.string, match.end())):
            words += " o'clock"
    if match[3] and match[3] != "00":
        words += f" and {plain(match[3].removeprefix('0'), british)} seconds"
    return words + _half_day(match[4]) + (f" {'.'.join(match[5])}" if match[5] else "")


_BRACKET_BEFORE = re.compile(r"[(\[][^)\]]{0,30}$")


def _is_duration(match: re.Match[str], before: str) -> bool:
    """Whether hours, minutes and seconds are how long something took, as in "she won in 2:03:14".

    The hour has one digit, "took" before it or, as the place in a recording, is 00 in brackets: it
    has no half of the day, time zone or preposition of
    a point in time.
    """
    if not match[3] or match[4] or match[5]:
        return False
    in_recording = match[1] == "00" and _BRACKET_BEFORE.search(before)
    if len(match[1]) > 1 and not (in_recording or _LASTS.search(before)):
        return False
    return bool(match[0].strip("0:.")) and not _POINT_IN_TIME.search(before)


def _hours_minutes_seconds(
    hours: int, minutes: int, seconds: str, british: bool, s: str = "s"
) -> str:
    """How long something took; `seconds` may have a fraction, and what is 0 is left out.

    `s` ends a unit of which there is not 1: nothing in "a two hour eight minute marathon".
    """
    numbers = ((str(hours), "hour"), (str(minutes), "minute"), (seconds.lstrip("0"), "second"))
    parts = [
        f"{plain(number, british)} {unit if number == '1' else unit + s}"
        for number, unit in numbers
        if number.strip("0.")
    ]
    return " and ".join(filter(None, (" ".join(parts[:-1]), *parts[-1:])))


def _minutes(minute: int) -> str:
    """Minutes behind an hour: " oh five", " thirty", and nothing for none."""
    if not minute:
        return ""
    return f" oh {cardinal(minute)}" if minute < 10 else f" {cardinal(minute)}"


def _pointed_clock(match: re.Match[str], british: bool) -> str:
    """A time with a point, as in Britain: "5.30pm"."""
    return cardinal(int(match[1])) + _minutes(int(match[2])) + _half_day(match[3])


_MET_AT = re.compile(
    r"\b(?:meet(?:s|ing)?|met|leav(?:es?|ing)|left|depart(?:s|ed|ing)?|arriv(?:es?|ed|ing)"
    r"|start(?:s|ed|ing)?|beg[iau]ns?|opens?|dinner|lunch|breakfast|supper|tea|train|bus|coach|ferry"
    r"|flight|boat|kick(?:s|ed)?[\s-]?off|doors|curtain|film|movie|appointment|class|lesson|lecture"
    r"|service|mass|party|concert|alarm|wake|woke|(?:get|got) up"
    r"|(?:shop|bank|store|bar|pub|office) closes)\b"
    r"[^.;!?]{0,25}\sat\s$",
    re.IGNORECASE,
)


def _pointed_clock_at(match: re.Match[str], british: bool) -> str:
    """A time with a point and no more, where something happens at it: "we meet at 7.30"."""
    before = match.string[max(0, match.start() - 45) : match.start()]
    return _pointed_clock(match, british) if _MET_AT.search(before) else match[0]


_SPOKEN_CLOCK = re.compile(r"\d\.[0-5]\d\s?[ap]m\b|\b[ap]\.m\b")


def _pointed_clock_of_listing(match: re.Match[str], british: bool) -> str:
    """A later time of a listing: "9.00pm News at Ten; 9.30 EastEnders"."""
    listed = _SPOKEN_CLOCK.search(match.string, max(0, match.start() - 200), match.start())
    return _pointed_clock(match, british) if listed else match[0]


def _half_days(match: re.Match[str], british: bool) -> list[Piece]:
    """Letters for the halves of the day: "8a–6p", "6:05a"."""
    groups = range(1, len(match.groups()) + 1)
    return [Piece(f"{match[group]}m", *match.span(group)) for group in groups if match[group]]


def _pointed_clock_to(match: re.Match[str], british: bool) -> str:
    """The first time of "8.30–9.30am"."""
    return f"{_pointed_clock(match, british)} to "


_OPEN_BEFORE = re.compile(
    r"\b(?:open(?:s|ed|ing)?|hours|daily|[a-z]*days?|from|between|lunch|tea|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*)"
    r"[\s:,(]{1,3}$",
    re.IGNORECASE,
)


def _pointed_clocks(match: re.Match[str], british: bool) -> list[Piece]:
    """Times with points from morning to evening: "10.00–16.00"."""
    before = match.string[max(0, match.start() - 24) : match.start()]
    from_day_to_evening = int(match[1]) < 12 < int(match[3])
    if not (_OPEN_BEFORE.search(before) or from_day_to_evening):
        return []
    return [Piece(":", position - 1, position) for position in (match.start(2), match.start(4))]


def _from_noon(match: re.Match[str], british: bool) -> list[Piece]:
    """The dash of "noon–3"."""
    return [Piece(" to ", *match.span(1))]


def _time_range(match: re.Match[str], british: bool) -> list[Piece]:
    return [Piece(" to ", match.end("first"), match.end())]


def _half_day(suffix: str | None) -> str:
    if not suffix:
        return ""
    return " a.m" if suffix.lower().startswith("a") else " p.m"


def _hour(match: re.Match[str], british: bool) -> str:
    return cardinal(int(match[1])) + _half_day(match[2])


def _duration(match: re.Match[str], british: bool) -> str:
    hours, minutes = int(match[1]), int(match[2])
    words = f"{cardinal(hours)} hour{'s' if hours != 1 else ''}"
    return f"{words} {cardinal(minutes)} minute{'s' if minutes != 1 else ''}"


def _minutes_and_seconds(match: re.Match[str], british: bool) -> str:
    """What a race took: "in 42:15", unless it is a ratio or a share: "55:45"."""
    if int(match[1]) + int(match[2]) == 100 or _is_ratio(match):
        return match[0]
    return cardinal(int(match[1])) + (_minutes(int(match[2])) or " minutes")


def _winning_time(match: re.Match[str], british: bool) -> str:
    """Minutes and seconds with a fraction: "in 1:00.50"."""
    if _is_ratio(match):
        return match[0]
    minutes, seconds, part = match.groups()
    if seconds != "00":
        return f"{cardinal(int(minutes))}{_minutes(int(seconds))}.{part}"
    name = "minute" if int(minutes) == 1 else "minutes"
    return f"{cardinal(int(minutes))} {name} and {plain(f'0.{part}', british)} seconds"


def _ratio(match: re.Match[str], british: bool) -> str:
    return " to ".join(plain(number, british) for number in match[0].split(":"))


_PAGES = r":(\d{1,5})(?:[-–](\d{1,5}))?(?![\w-]|[.:,]\d|–)"


def _named(number: str, british: bool) -> str:
    return in_pairs(number, british) if len(number) in (3, 4) else plain(number, british)


def _journal(match: re.Match[str], british: bool) -> str:
    """A volume of a journal, its issue and the pages: "Nature 585:357–62", "2020;12(3):45"."""
    volume, issue, first, last = match.groups()
    if _is_ratio(match):
        return match[0]
    if last and len(last) < len(first):
        last = first[: -len(last)] + last
    pages = _named(first, british) + (f" to {_named(last, british)}" if last else "")
    return ", ".join(_named(part, british) for part in (volume, issue) if part) + f", {pages}"


def _standard(match: re.Match[str], british: bool) -> list[Piece]:
    """The year of a standard: "ISO 9001:2015"."""
    return [Piece(", " + year(int(match[3]), british), match.end(2), match.end(3))]


def _of_four_digits(hour: str, minute: str) -> str:
    """A time as soldiers say it: "oh six fifteen", "fourteen hundred"."""
    words = "oh " * (int(hour) < 10) + cardinal(int(hour))
    return words + (_minutes(int(minute)) or " hundred")


def _military(match: re.Match[str], british: bool) -> str:
    """A time of four digits: "0615", "1430 hours"."""
    hour, minute = (group for group in match.groups() if group)
    return _of_four_digits(hour, minute) + " hours" * match[0].endswith("hrs")


_SERVICES = r"(?:train|bus|coach|ferry|tram|flight|sailing|departure)(?:s|es)?\b"
_AND_LATER = r"(?:,? (?:and|or) [012]\d[0-5]\d)?"


def _military_span(match: re.Match[str], british: bool) -> str:
    """Two times of four digits: "0800–1700 hrs"."""
    return f"{_of_four_digits(match[1], match[2])} to {_of_four_digits(match[3], match[4])} hours"


def _zulu(match: re.Match[str], british: bool) -> str:
    """A time of four digits in the zone of Greenwich: "0900Z"."""
    return f"{_of_four_digits(match[1], match[2])} Zulu"


def _page_of_year(match: re.Match[str], british: bool) -> Replacement:
    """A work by its year, and the page: "Rhoda 1994:148"."""
    if _is_ratio(match):
        return match[0]
    words = f"{year(int(match[1]), british)}, {_named(match[2], british)}"
    return [Piece(words, match.start(1), match.end(2))]


TIMES: tuple[Rule, ...] = (
    (
        re.compile(
            r"\b(?!(?:In|By|At|Since|Until|From|Page|Verse)\b)[A-Z][^\W\d_]+(?: et al\.?)?,? \(?"
            r"(1[89]\d\d|20[0-2]\d):([1-9]\d{1,3})(?![\w:–-]|[.,]\d)"
        ),
        _page_of_year,
    ),
    (
        re.compile(
            r"(?:(?<=19\d\d;)|(?<=20\d\d;)|(?<=\d\d; )(?=\d{3}))"
            rf"(\d{{1,4}})(?:\((\d{{1,4}})\))?{_PAGES}"
        ),
        _journal,
    ),
    (
        re.compile(
            r"(?<=[A-Za-z.,] )(?=\d{3,4}:\d{1,5}[-–]\d|\d\d:\d{3,5}[-–]\d|\d{1,4}\()"
            rf"(\d{{1,4}})(?:\((\d{{1,3}})\))?{_PAGES}"
        ),
        _journal,
    ),
    (re.compile(r"(?<![\w.,:-])([01]\d|2[0-3])([0-5]\d)Z\b"), _zulu),
    (
        re.compile(
            rf"(?:(?<=day )|(?<=day, )|(?<=[Oo]pen )|(?<=from )){_HOUR}(?::[0-5]\d)?()\s?[-–—]\s?"
            rf"{_HOUR}(?::[0-5]\d)?([ap])(?![\w'’-])"
            rf"|{START}{_HOUR}(?::[0-5]\d)?([ap])(?:\s?[-–—]\s?|\sto\s)"
            rf"{_HOUR}(?::[0-5]\d)?([ap])(?![\w'’-])"
            rf"|{START}{_HOUR}:[0-5]\d([ap])()(?![\w'’-]|\.\s?m\b)"
            rf"|(?:(?<=\bat )|(?<=\bby )|(?<=\bme )){_HOUR}([ap])()"
            rf"(?=\s(?:{_ZONES}|tonight|tomorrow|today|sharp)\b)"
        ),
        _half_days,
    ),
    (
        re.compile(r"(?<=[A-Z])\s/\s(?=\d{1,2}(?::[0-5]\d|\s?[ap]\.?m)\b)"),
        lambda match, british: ", ",
    ),
    (
        re.compile(
            r"(?<=\bat )([01]?\d|2[0-3])\.([0-5]\d)()(?![\w%]|\.\d|\s(?:percent|per|points?)\b)"
        ),
        _pointed_clock_at,
    ),
    (
        re.compile(
            rf"(?<![\w.,$£€=-])([01]?\d|2[0-3])\.([03]0|[14]5){DASH}([01]?\d|2[0-4])\.([03]0|[14]5)"
            r"(?=[.,;:)](?!\d)|$|\s(?:daily|hrs|hours|on|every|each|and|weekdays|weekends|today|tomorrow|[A-Z][a-z]+day)\b)"
        ),
        _pointed_clocks,
    ),
    (re.compile(rf"\b(?:[Nn]oon|[Mm]idnight)({DASH})(?=\d{{1,2}}(?![:\d]))"), _from_noon),
    (
        re.compile(
            rf"{START}(?P<first>\d{{1,2}}(?::\d\d)?\s?(?:{_HALF_DAY}\.?)?|{_HOUR}\.[0-5]\d\s?{_HALF_DAY}\.?"
            rf"|[Nn]oon|[Mm]idnight){DASH}"
            rf"(?=\d{{1,2}}(?::\d\d|(?:\.[0-5]\d)?\s?{_HALF_DAY})|noon|midnight)"
        ),
        _time_range,
    ),
    (
        re.compile(rf"{START}(?P<first>\d{{1,2}}:[0-5]\d){DASH}(?=\d{{1,2}}(?![\d:\w]|\.\d))"),
        _time_range,
    ),
    (
        re.compile(
            rf"{START}(1[0-2]|0?[1-9])\.([0-5]\d)(){DASH}(?=\d{{1,2}}(?:\.[0-5]\d)?\s?{_HALF_DAY})"
        ),
        _pointed_clock_to,
    ),
    (re.compile(rf"{START}(?<!:)(\d{{1,2}}):([0-5]\d)\.(\d{{1,3}}){END}(?!:)"), _winning_time),
    (
        re.compile(
            rf"{START}([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d(?:\.\d{{1,3}})?))?(?![:\d]|,\d{{3}})(?:\s?{_HALF_DAY})?"
            rf"(?:\s?h\b|\s?({_ZONES}|(?<=\d)Z)\b)?"
        ),
        _clock,
    ),
    (re.compile(rf"{START}(1[0-2]|0?[1-9])\.([0-5]\d)\s?{_HALF_DAY}"), _pointed_clock),
    (
        re.compile(r"(?=\d)(?:^|(?<=[;,.)] ))(1[0-2]|[1-9])\.([0-5]\d)()(?=\s[A-Z])"),
        _pointed_clock_of_listing,
    ),
    (
        re.compile(
            r"(?<=\b[Tt]he )([01]?\d|2[0-3])\.([0-5]\d)()"
            rf"(?=\s(?:(?:to|from|for|at)\s[A-Z]|{_SCHEDULED}\b|race\b))"
        ),
        _pointed_clock,
    ),
    # Not the 2 of "4 1/2 a.m."
    (re.compile(rf"(?<!\d\s[13]/){START}(1[0-2]|0?[1-9])\s?{_HALF_DAY}"), _hour),
    (
        re.compile(
            rf"{START}([01]\d|2[0-3])([0-5]\d)\s?[-–]\s?([01]\d|2[0-4])([0-5]\d)\s?(?:hrs|hours)\b"
        ),
        _military_span,
    ),
    (
        re.compile(
            r"(?=\d)(?:(?<=\b[Aa]t )|(?<=\b[Bb]y )|(?<=\b[Ff]rom )|(?<=\b[Uu]ntil )|(?<=\bto ))"
            r"(?:(0\d)([0-5]\d)(?![\w:-]|[.,]\d)(?:\shrs\b)?|([01]\d|2[0-3])([0-5]\d)(?:\shrs\b|(?=\shours\b)))"
            r"|(?<![\w.,:])(0\d)([0-5]\d)(?:\shrs\b|(?=\shours\b))"
            rf"|(?<![\w.,:$£€-])([01]\d|2[0-3])([0-5]\d)(?=\s{_ZONES}\b)"
            r"|(?:(?<=: )|(?<=, )|(?<=[Ss]ince )|(?<=[Bb]efore )|(?<=[Aa]fter ))"
            r"(1\d|2[0-3])([0-5]\d)(?:\shrs\b|(?=\shours\b))(?!(?:\shours)?\sof\b)"
        ),
        _military,
    ),
    # "The 0815 and 1742 trains", but "the 1927 flight" was in that year.
    (
        re.compile(
            rf"(?<![\w.,:$£€-])(0\d)([0-5]\d)(?={_AND_LATER} {_SERVICES})"
            rf"|(?:(?<= 0\d{{3}} and )|(?<= 0\d{{3}} or ))([012]\d)([0-5]\d)(?= {_SERVICES})"
            rf"|(?<=\b[Tt]he )(1[0-7]|2[1-3])([0-5]\d)(?= {_SCHEDULED}\b)"
            rf"|(?<=\b[Tt]he )(1[89]|20)([0-5]\d)(?= {_SCHEDULED} (?:to|from) [A-Z])"
        ),
        _military,
    ),
    (re.compile(rf"{START}(\d{{1,3}})\s?h\s?([0-5]?\d)\s?m(?:in)?(?![\w/])"), _duration),
    (
        re.compile(rf"\b({_STANDARDS})(\d{{2,6}}(?:-\d{{1,3}})?):((?:19|20)\d\d)\b"),
        _standard,
    ),
    (re.compile(rf"\b{_STANDARDS}\d{{2,6}}(-)(?=\d{{1,2}}(?![\w-]|[.,]\d))"), apart_within),
    (re.compile(rf"\b{_STANDARDS}(\d{{5}})(?!\d|-\d{{1,3}}-\d)"), digit_by_digit),
    (re.compile(rf"{START}(2[5-9]|[3-5]\d):([0-5]\d){END}"), _minutes_and_seconds),
    (re.compile(rf"{START}{NUMBER}(?::{NUMBER}){{1,4}}{END}"), _ratio),
)
"""Times of day, and what else has a colon between numbers."""
