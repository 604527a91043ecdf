"""Dates, years and times of day."""

from __future__ import annotations

import re

from ..tracked import Piece, Replacement
from .number_forms import DASH, END, NUMBER, START, Rule, plain
from .numbers import cardinal, digits, ordinal, plural, year

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
_HALF_DAY = r"([aApP]\.?[mM])\b"
_HOUR = r"(?:1[0-2]|0?[1-9])"
_ZONES = r"(?:GMT|UTC|BST|CET|CEST|E[SD]?T|C[SD]T|M[SD]T|P[SD]?T)"
_COUNTED_AFTER = re.compile(
    r"\s+(?:people|men|women|children|of\b|more|fewer|percent"
    r"|(?!(?:million|thousand|hundred|level|election|primarie|midterm|playoff|final|figure|result"
    r"|earning|estimate|forecast|price|taxe|return|model|protest|riot|flood|fire|wildfire|attack"
    r"|talk|accord|reform|guideline|rule|regulation|standard|goal|target|sanction|recording|award"
    r"|rating|edition)s\b)[a-z]{2,}[^s\W]s\b(?!\s(?:may|might|will|would|could)\b))"
)


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


def _era(match: re.Match[str], british: bool) -> list[Piece]:
    """A year before or after its era; the second number of a range as well."""
    pieces = [
        Piece(year(int(number), british), *match.span(group))
        for group, number in enumerate(match.groups(), 1)
        if number
    ]
    if len(pieces) == 2 and match.string[pieces[0].end : pieces[1].start].strip() in "-–—":
        pieces.insert(1, Piece(" to ", pieces[0].end, pieces[1].start))
    return pieces


def _fiscal(match: re.Match[str], british: bool) -> str:
    words = f" {year(int(match[2]), british)}"
    if match[3]:
        words += " " if match[3] == "/" else " to "
        words += cardinal(int(match[4]))
    return words


def _years(match: re.Match[str], british: bool) -> Replacement:
    """Four digits after a word such as "in" unless something is counted, as in "1050 votes"."""
    if _COUNTED_AFTER.match(match.string, match.end()) and not _is_period(match):
        return match[0]
    return _era(match, british)


def _is_period(match: re.Match[str]) -> bool:
    """Whether two numbers are years whatever follows: "from 2019 to 2022 prices doubled"."""
    if match.re.groups < 2:
        return False
    first, last = int(match[1]), int(match[2])
    return 1900 <= first < last < 2100 and bool(first % 100) and bool(last % 100)


def _year(match: re.Match[str], british: bool) -> str:
    """Read four digits as a year unless something is counted, as in "1234 votes"."""
    counted = _COUNTED_AFTER.match(match.string, match.end())
    if match[1][2:] != "00" and counted and not match.string[: match.start()].endswith("year "):
        return cardinal(int(match[1]), british)
    return year(int(match[1]), british)


def _short_year(match: re.Match[str], british: bool) -> str:
    return f"oh {cardinal(int(match[1]))}"


def _to(match: re.Match[str], british: bool) -> str:
    return " to "


def _decade(match: re.Match[str], british: bool) -> str:
    text = match[1] or match[2] or match[3] or match[4]
    if text == "00":  # the first decade of the century
        return "two thousands"
    return plural(year(int(text), british) if len(text) == 4 else cardinal(int(text)))


def _ages(match: re.Match[str], british: bool) -> str:
    """People by their ages: "the 12-15s"."""
    return f"{cardinal(int(match[1]))} to {plural(cardinal(int(match[2])))}"


_RATIO_BEFORE = re.compile(
    r"\b(?:(?:ratio|dilut(?:ed?|ing|ion)|scale|slope|gradient|odds|proportion|aspect|outnumbered)\b"
    r"[^.!?;]{0,25}|(?:mix|mixture|split|parts?)\b(?:[^.!?;]{0,22}\s\(?)?(?<!at ))$",
    re.IGNORECASE,
)
_RATIO_AFTER = re.compile(
    r"\s(?:ratio|scale|slope|gradient|odds|mix|mixture|dilution|aspect|split|shot|favou?rites?)\b"
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
_SCHEDULED = r"(?:train|bus|coach|ferry|tram|flight|sailing|departure|service)"
_TO_HALF_DAY = re.compile(rf"\sto\s\d{{1,2}}(?::\d\d)?\s?{_HALF_DAY}")


def _clock(match: re.Match[str], british: bool) -> str:
    before = match.string[max(0, match.start() - 50) : match.start()]
    if _is_ratio(match) and not (match[4] or match[5]):
        return match[0]
    hour, minute = int(match[1]), int(match[2])
    if _is_duration(match, before):
        return _hours_minutes_seconds(hour, minute, match[3], british)
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


def _is_duration(match: re.Match[str], before: str) -> bool:
    """Whether hours, minutes and seconds are how long something took, as in "she won in 2:03:14".

    The hour has one digit, and no half of the day, time zone or preposition of a point in time.
    """
    if not match[3] or len(match[1]) > 1 or match[4] or match[5]:
        return False
    return bool(match[0].strip("0:.")) and not _POINT_IN_TIME.search(before)


def _hours_minutes_seconds(hours: int, minutes: int, seconds: str, british: bool) -> str:
    """How long something took; `seconds` may have a fraction, and what is 0 is left out."""
    numbers = ((str(hours), "hour"), (str(minutes), "minute"), (seconds.lstrip("0"), "second"))
    parts = [
        f"{plain(number, british)} {unit if number == '1' else unit + 's'}"
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


def _half_days(match: re.Match[str], british: bool) -> list[Piece]:
    """Letters for the halves of the day: "8a–6p", "6:05a"."""
    groups = range(1, len(match.groups()) + 1)
    return [Piece(f"{match[group]}m", *match.span(group)) for group in groups if match[group]]


def _pointed_clock_to(match: re.Match[str], british: bool) -> str:
    """The first time of "8.30–9.30am"."""
    return f"{_pointed_clock(match, british)} to "


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


def _ratio(match: re.Match[str], british: bool) -> str:
    return " to ".join(plain(number, british) for number in match[0].split(":"))


def _standard(match: re.Match[str], british: bool) -> list[Piece]:
    """The year of a standard: "ISO 9001:2015"."""
    return [Piece(", " + year(int(match[3]), british), match.end(2), match.end(3))]


def _part_of_standard(match: re.Match[str], british: bool) -> list[Piece]:
    """The hyphen of "IEC 60601-1"."""
    return [Piece(" ", *match.span(1))]


def _number_of_standard(match: re.Match[str], british: bool) -> list[Piece]:
    """Five digits, which are read one by one: "ISO 27001"."""
    return [Piece(digits(match[1]), *match.span(1))]


def _season(match: re.Match[str], british: bool) -> Replacement:
    """A year that begins in the middle of one: "the 2021/22 season"."""
    first, last = int(match[1]), int(match[2])
    if last != (first + 1) % 100:
        return match[0]
    if last == 0:
        words = year(first + 1, british)
    else:
        words = f"oh {cardinal(last)}" if last < 10 else cardinal(last)
    return f"{year(first, british)} {words}"


def _dates_range(match: re.Match[str], british: bool) -> list[Piece]:
    """The dash between dates: "Feb. 28–Mar. 3"."""
    dash = next(group for group in (1, 2, 4, 5) if match[group])
    return [Piece(" to ", *match.span(dash))]


def _military(match: re.Match[str], british: bool) -> str:
    """A time of four digits: "0615", "1430 hours"."""
    hour, minute = (int(group) for group in match.groups() if group)
    words = "oh " * (hour < 10) + cardinal(hour)
    hours = " hours" if match[0].endswith("hrs") else ""
    return words + (_minutes(minute) or " hundred") + hours


def _zulu(match: re.Match[str], british: bool) -> str:
    """A time of four digits in the zone of Greenwich: "0900Z"."""
    hour, minute = int(match[1]), int(match[2])
    words = "oh " * (hour < 10) + cardinal(hour) + (_minutes(minute) or " hundred")
    return f"{words} Zulu"


def _weekdays_date(match: re.Match[str], british: bool) -> Replacement:
    """A day and a month behind the name of the day and the like: "Sat., 5/6"."""
    first, second = int(match[1]), int(match[2])
    month, day = (second, first) if british else (first, second)
    before = match.string[match.start() : match.start(1)].strip().lower()
    fraction = (first < second and second in (2, 3, 4, 8, 16)) or (first, second) == (9, 11)
    fraction = fraction and before in ("on", "before", "after", "since")
    if not _is_date(month, day) or fraction or (before == "by" and first < second):
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
            r"\b(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,?"
            r"|(?i:(?:birthday|anniversary|deadlines?|dates?)(?: is| are|,|:)"
            r"|(?:e-?mail|letter|message|memo|note|meeting|invoice|statement) (?:of|dated|from)"
            r"|due(?: on)?|on|by|before|after|since|until|till|through|starting|effective|except"
            r"|expires|ends|begins|starts|opens|closes|week of|as of)) (\d{1,2})/(\d{1,2})"
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
    (re.compile(r"(?<![\w.,/-])((?:1[89]|20)\d\d)/(\d\d)(?![\d/%-]|[.,]\d)"), _season),
    (
        re.compile(r"(?<![\d/-])(\d{4})([-/])(\d{1,2})\2(\d{1,2})(?:(T)(?=\d\d:)|(?![\w/-]))"),
        _iso_date,
    ),
    (
        re.compile(rf"{START}(\d{{1,2}})([/-])(\d{{1,2}})\2(\d{{4}}|\d\d)(?![\d/-])"),
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

TIMES: tuple[Rule, ...] = (
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
    (re.compile(rf"\b(?:[Nn]oon|[Mm]idnight)({DASH})(?=\d{{1,2}}(?![:\d]))"), _dates_range),
    (
        re.compile(
            rf"{START}(?P<first>\d{{1,2}}(?::\d\d)?\s?(?:{_HALF_DAY}\.?)?|[Nn]oon|[Mm]idnight){DASH}"
            rf"(?=\d{{1,2}}(?::\d\d|\s?{_HALF_DAY})|noon|midnight)"
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
    (
        re.compile(
            rf"{START}([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d(?:\.\d{{1,3}})?))?(?![:\d]|,\d{{3}})(?:\s?{_HALF_DAY})?"
            rf"(?:\s?h\b|\s?({_ZONES}|(?<=\d)Z)\b)?"
        ),
        _clock,
    ),
    (re.compile(rf"{START}(1[0-2]|0?[1-9])\.([0-5]\d)\s?{_HALF_DAY}"), _pointed_clock),
    (
        re.compile(
            r"(?<=\b[Tt]he )([01]?\d|2[0-3])\.([0-5]\d)()"
            rf"(?=\s(?:(?:to|from|for)\s[A-Z]|{_SCHEDULED}\b))"
        ),
        _pointed_clock,
    ),
    (re.compile(rf"{START}(1[0-2]|0?[1-9])\s?{_HALF_DAY}"), _hour),
    (
        re.compile(
            r"(?:(?<=\b[Aa]t )|(?<=\b[Bb]y )|(?<=\b[Ff]rom )|(?<=\b[Uu]ntil )|(?<=\bto ))"
            r"(?:(0\d)([0-5]\d)(?![\w:-]|[.,]\d)(?:\shrs\b)?|([01]\d|2[0-3])([0-5]\d)(?:\shrs\b|(?=\shours\b)))"
            r"|(?<![\w.,:])(0\d)([0-5]\d)(?:\shrs\b|(?=\shours\b))"
            r"|(?:(?<=: )|(?<=, )|(?<=[Ss]ince )|(?<=[Bb]efore )|(?<=[Aa]fter ))"
            r"(1\d|2[0-3])([0-5]\d)(?:\shrs\b|(?=\shours\b))(?!(?:\shours)?\sof\b)"
        ),
        _military,
    ),
    (re.compile(rf"{START}(\d{{1,3}})\s?h\s?([0-5]?\d)\s?m(?:in)?(?![\w/])"), _duration),
    (
        re.compile(rf"\b({_STANDARDS})(\d{{2,6}}(?:-\d{{1,3}})?):((?:19|20)\d\d)\b"),
        _standard,
    ),
    (re.compile(rf"\b{_STANDARDS}\d{{2,6}}(-)(?=\d{{1,2}}(?![\w-]|[.,]\d))"), _part_of_standard),
    (re.compile(rf"\b{_STANDARDS}(\d{{5}})(?!\d|-\d{{1,3}}-\d)"), _number_of_standard),
    (re.compile(rf"{START}(2[5-9]|[3-5]\d):([0-5]\d){END}"), _minutes_and_seconds),
    (re.compile(rf"{START}{NUMBER}(?::{NUMBER}){{1,4}}{END}"), _ratio),
)
"""Times of day, and what else has a colon between numbers."""

_TIMED = r"\s(?:timer|timeout|countdown|clip|video|delay|interval|limit|mark|pause|rest)\b"

YEARS: tuple[Rule, ...] = (
    (
        re.compile(
            r"(?:(?<=\b[Tt]he )|(?<=\b[Aa]mong )|(?<=\b[Bb]oys )|(?<=\b[Gg]irls ))"
            rf"(\d{{1,2}}){DASH}(\d{{2}})s\b(?!{_TIMED})"
        ),
        _ages,
    ),
    (re.compile(r"(?:(?<=\d0s)|(?<=\d0's))[-–](?='?\d{1,3}0'?s\b)"), _to),
    (
        re.compile(
            r"(?<![\w.])(?:(?:'|\b(?=\d{4}))(\d{3}0)|'(\d0)"
            r"|(?:(?<=[Tt]he )|(?<=[Ee]arly )|(?<=[Ll]ate )|(?<=[Mm]id-)|(?<=pper )"
            r"|(?<=[Ll]ower )|(?<=his )|(?<=her )|(?<=their )|(?<=my )|(?<=0s to )|(?<=0s and )"
            r"|(?<=0s or ))(\d0)"
            r"|(?<![\w.,$£€-])(\d0)(?='?s (?:kids?|music|era|fashion|rock|pop|bab(?:y|ies)|hits?"
            r"|movies?|films?|style|nostalgia|shows?|vibes?|child|children|songs?|party|sitcoms?)\b))"
            rf"'?s\b(?!{_TIMED})"
        ),
        _decade,
    ),
    (re.compile(r"(?<!\w)'0(\d)(?![\w'])"), _short_year),
    (
        re.compile(
            rf"(?<![\w.,])(\d{{1,4}})(?:{DASH}(\d{{1,4}}))?(?=\s?(?:BCE?|CE|AD|A\.D|B\.C(?:\.E)?)\b)"
        ),
        _era,
    ),
    (re.compile(r"(?:\bAD|\bA\.D)\s(\d{1,4})(?![\w-]|[.,]\d)"), _era),
    (re.compile(r"(?<=\bFY)(\s?)((?:19|20)\d\d)\b(?:([/–-])(\d\d)\b)?"), _fiscal),
    (
        re.compile(r"(?:\b[Pp]re-|\b[Pp]ost-|\b[Mm]id-)(1\d{3}|20\d\d)(?![\w-]|[.,]\d)"),
        _era,
    ),
    (
        re.compile(
            r"\b(?:[Ff]rom|[Bb]etween) (1[0-9]\d\d|20\d\d) (?:to|and|until|till) "
            r"(1[0-9]\d\d|20\d\d)(?![\w-]|[.,]\d)"
        ),
        _years,
    ),
    (
        re.compile(
            r"\b(?:[Ii]n|[Ss]ince|[Bb]y|[Uu]ntil|[Tt]ill?|[Cc]irca|[Aa]round|[Aa]fter|[Bb]efore"
            r"|[Ee]arly|[Ll]ate|[Yy]ear|[Oo]f) (10\d\d|2[1-9]\d\d)(?![\w%-]|[.,]\d)"
        ),
        _years,
    ),
    (
        re.compile(
            r"(?:\bIn|\b(?:was|were|died|born|fell|began|\w+ed) in) ([1-9]\d\d)"
            r"(?=,? (?:the|an?|that|when|he|she|it|they|his|her|its|there|[A-Z][a-z]+)\b)"
        ),
        _years,
    ),
)
"""Years that their company shows."""

BARE_YEAR: Rule = (re.compile(r"(?<![\w.,$#-])(1[1-9]\d\d|20\d\d)(?![\w-]|[.,]\d)"), _year)
"""Four digits that may be a year."""
