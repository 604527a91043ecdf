"""Expand everything that is written with digits into words.

The rules run in the order of `_RULES`: what needs more context (dates, times, money) comes before
what needs less. After the last one no digit is left.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from .numbers import cardinal, decimal, digits, ordinal, plural, year
from .traced import Piece, Replacement, Traced

_MONTHS = (
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
_MONTH = "|".join(_MONTHS)
_NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|(?<![\d.])\.\d+)"
# Matches are not part of a longer number, a word or a point-separated string.
_START = r"(?<![\w.,])"
_END = r"(?![\w]|[.,]\d)"
_DASH = r"\s?[-–—]\s?"

_MAGNITUDES = {
    "k": "thousand",
    "K": "thousand",
    "M": "million",
    "m": "million",
    "mn": "million",
    "mm": "million",
    "B": "billion",
    "b": "billion",
    "bn": "billion",
    "T": "trillion",
    "tn": "trillion",
    "thousand": "thousand",
    "million": "million",
    "billion": "billion",
    "trillion": "trillion",
}
_MAGNITUDE = r"(?:\s?(thousand|million|billion|trillion|bn|tn|mn|[kKMmBbT]))?(?![A-Za-z])"


class _Currency(NamedTuple):
    unit: str
    units: str
    cent: str
    cents: str


_DOLLAR = _Currency("dollar", "dollars", "cent", "cents")
_CURRENCIES = {
    "$": _DOLLAR,
    "£": _Currency("pound", "pounds", "penny", "pence"),
    "€": _Currency("euro", "euros", "cent", "cents"),
    "¥": _Currency("yen", "yen", "sen", "sen"),
    "₹": _Currency("rupee", "rupees", "paisa", "paise"),
    "₩": _Currency("won", "won", "jeon", "jeon"),
    "₽": _Currency("ruble", "rubles", "kopeck", "kopecks"),
    "₿": _Currency("bitcoin", "bitcoins", "cent", "cents"),
}
_CURRENCY_CODES = {"USD": "$", "GBP": "£", "EUR": "€", "JPY": "¥", "INR": "₹"}
_COUNTRIES = {
    "US": "US",
    "C": "Canadian",
    "CA": "Canadian",
    "A": "Australian",
    "AU": "Australian",
    "NZ": "New Zealand",
    "HK": "Hong Kong",
}

# Symbol to singular; the plural is regular except for `_UNIT_PLURALS`.
_UNITS = {
    "km": "kilometer",
    "m": "meter",
    "cm": "centimeter",
    "mm": "millimeter",
    "µm": "micrometer",
    "nm": "nanometer",
    "mi": "mile",
    "ft": "foot",
    "yd": "yard",
    "yds": "yard",
    "kg": "kilogram",
    "g": "gram",
    "mg": "milligram",
    "µg": "microgram",
    "lb": "pound",
    "lbs": "pound",
    "oz": "ounce",
    "L": "liter",
    "l": "liter",
    "ml": "milliliter",
    "mL": "milliliter",
    "cl": "centiliter",
    "gal": "gallon",
    "mph": "mile per hour",
    "kph": "kilometer per hour",
    "kmh": "kilometer per hour",
    "rpm": "revolution per minute",
    "fps": "frame per second",
    "bpm": "beat per minute",
    "psi": "P.S.I",
    "Hz": "hertz",
    "kHz": "kilohertz",
    "MHz": "megahertz",
    "GHz": "gigahertz",
    "B": "byte",
    "kB": "kilobyte",
    "KB": "kilobyte",
    "MB": "megabyte",
    "GB": "gigabyte",
    "TB": "terabyte",
    "PB": "petabyte",
    "Kbps": "kilobit per second",
    "Mbps": "megabit per second",
    "Gbps": "gigabit per second",
    "W": "watt",
    "kW": "kilowatt",
    "MW": "megawatt",
    "GW": "gigawatt",
    "Wh": "watt hour",
    "kWh": "kilowatt hour",
    "V": "volt",
    "mV": "millivolt",
    "kV": "kilovolt",
    "mA": "milliamp",
    "mAh": "milliamp hour",
    "Ω": "ohm",
    "kΩ": "kiloohm",
    "s": "second",
    "sec": "second",
    "secs": "second",
    "ms": "millisecond",
    "µs": "microsecond",
    "ns": "nanosecond",
    "min": "minute",
    "mins": "minute",
    "h": "hour",
    "hr": "hour",
    "hrs": "hour",
    "px": "pixel",
    "dB": "decibel",
    "cal": "calorie",
    "kcal": "kilocalorie",
    "ha": "hectare",
    "Pa": "pascal",
    "hPa": "hectopascal",
    "kPa": "kilopascal",
    "N": "newton",
    "kN": "kilonewton",
    "kJ": "kilojoule",
    "°C": "degree Celsius",
    "°F": "degree Fahrenheit",
    "°": "degree",
    "%": "percent",
    "‰": "per mille",
    "x": "time",
    "×": "time",
}
_UNIT_PLURALS = {
    "foot": "feet",
    "mile per hour": "miles per hour",
    "kilometer per hour": "kilometers per hour",
    "revolution per minute": "revolutions per minute",
    "frame per second": "frames per second",
    "beat per minute": "beats per minute",
    "kilobit per second": "kilobits per second",
    "megabit per second": "megabits per second",
    "gigabit per second": "gigabits per second",
    "degree Celsius": "degrees Celsius",
    "degree Fahrenheit": "degrees Fahrenheit",
    "P.S.I": "P.S.I",
    "hertz": "hertz",
    "kilohertz": "kilohertz",
    "megahertz": "megahertz",
    "gigahertz": "gigahertz",
    "percent": "percent",
    "per mille": "per mille",
}
# Only after a slash: "90 km/h", "$20/month".
_PER = {
    "h": "hour",
    "hr": "hour",
    "s": "second",
    "sec": "second",
    "min": "minute",
    "d": "day",
    "mo": "month",
    "yr": "year",
    "wk": "week",
    "second": "second",
    "minute": "minute",
    "hour": "hour",
    "day": "day",
    "night": "night",
    "week": "week",
    "month": "month",
    "year": "year",
    "person": "person",
    "user": "user",
}
_UNIT = "|".join(re.escape(unit) for unit in sorted(_UNITS, key=len, reverse=True))
_PER_UNIT = "|".join(sorted({*_PER, *(u for u in _UNITS if u.isalpha())}, key=len, reverse=True))

_NOT_FRACTIONS = {(24, 7), (9, 11), (7, 11), (50, 50)}
_DENOMINATORS = {2: "half", 3: "third", 4: "quarter"}

Rule = tuple[re.Pattern[str], Callable[[re.Match[str], bool], Replacement]]


def _plain(text: str, british: bool) -> str:
    """A number with optional thousands separators and point."""
    text = text.replace(",", "")
    if len(text) > 1 and text[0] == "0" and text[1] != ".":
        return digits(text) if "." not in text else decimal(text, british)
    return decimal(text, british)


def _digits(match: re.Match[str], british: bool) -> str:
    return f" {digits(match[0])} "


def _is_one(text: str) -> bool:
    return text in ("1", "1.0")


def _day_of_month(month: str, day: int, year_text: str | None, british: bool) -> str:
    name = ordinal(day, british)
    words = f"the {name} of {month}" if british else f"{month} {name}"
    return words + (f", {year(int(year_text), british)}" if year_text else "")


def _iso_date(match: re.Match[str], british: bool) -> str:
    return _day_of_month(_MONTHS[int(match[2]) - 1], int(match[3]), match[1], british)


def _slash_date(match: re.Match[str], british: bool) -> str:
    month, day = int(match[1]), int(match[2])
    if (british and day <= 12) or month > 12:
        month, day = day, month
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return match[0].replace("/", " slash ")
    century = "" if len(match[3]) == 4 else ("19" if int(match[3]) > 50 else "20")
    return _day_of_month(_MONTHS[month - 1], day, century + match[3], british)


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
    words = Piece(f"the {ordinal(day)} of ", match.start(), match.start("month"))
    return [words, *_year_pieces(match, match.end("month"), british)]


def _year_pieces(match: re.Match[str], end: int, british: bool) -> list[Piece]:
    """The year of a date whose day and month end at `end`, after a comma."""
    if not match["year"]:
        return []
    comma = Piece(", ", end, match.start("year"))
    return [comma, Piece(year(int(match["year"]), british), *match.span("year"))]


def _month_year(match: re.Match[str], british: bool) -> list[Piece]:
    return [Piece(year(int(match[3]), british), *match.span(3))]


def _clock(match: re.Match[str], british: bool) -> str:
    hour, minute = int(match[1]), int(match[2])
    words = cardinal(hour)
    if minute:
        words += f" oh {cardinal(minute)}" if minute < 10 else f" {cardinal(minute)}"
    elif not match[4]:
        words += " o'clock" if 1 <= hour <= 12 else " hundred"
    if match[3]:
        words += f" and {cardinal(int(match[3]))} seconds"
    return words + _half_day(match[4])


def _time_range(match: re.Match[str], british: bool) -> str:
    return f"{match[1]} to "


def _half_day(suffix: str | None) -> str:
    if not suffix:
        return ""
    return " a.m" if suffix.lower().startswith("a") else " p.m"


def _hour(match: re.Match[str], british: bool) -> str:
    return cardinal(int(match[1])) + _half_day(match[2])


def _ratio(match: re.Match[str], british: bool) -> str:
    return f"{_plain(match[1], british)} to {_plain(match[2], british)}"


def _in_pairs(text: str, british: bool) -> str:
    """Read names of rooms, flights and formats: "two thirty-seven", "ten eighty", "one oh one"."""
    if len(text) == 4:
        return year(int(text), british)
    if text.endswith("00"):
        return cardinal(int(text), british)
    rest = int(text[1:])
    return f"{cardinal(int(text[0]))} {f'oh {cardinal(rest)}' if rest < 10 else cardinal(rest)}"


def _designation(match: re.Match[str], british: bool) -> str:
    return f"{match[1]}{_in_pairs(match[2], british)}"


def _video_lines(match: re.Match[str], british: bool) -> str:
    return f"{_in_pairs(match[1], british)} p"


def _emergency(match: re.Match[str], british: bool) -> str:
    return digits(match[0])


def _hash_number(match: re.Match[str], british: bool) -> str:
    return f"number {match[1]}"


def _phone(match: re.Match[str], british: bool) -> str:
    groups = re.findall(r"\d+", match[0])
    plus = "plus " if match[0].startswith("+") else ""
    return plus + ", ".join(digits(group) for group in groups)


_ARTICLE_BEFORE = re.compile(r"\b(?:an?|another|each|every)\s$", re.IGNORECASE)
_NOUN_AFTER = re.compile(r"\s[a-z]")


def _money(match: re.Match[str], british: bool) -> str:
    minus, country, sign, low, high, magnitude, per = match.groups()
    currency = _CURRENCIES[sign]
    # "a $5 bill" is a five dollar bill.
    singular = bool(_ARTICLE_BEFORE.search(match.string[max(0, match.start() - 9) : match.start()]))
    singular = singular and bool(_NOUN_AFTER.match(match.string, match.end()))
    words = _amount(high or low, currency, magnitude, singular, british)
    if high:
        words = f"{_plain(low, british)} to {words}"
    if country:
        words = words.replace(currency.units, f"{_COUNTRIES[country]} {currency.units}")
    return ("minus " if minus else "") + words + (f" per {_PER[per]}" if per else "")


def _amount(
    number: str, currency: _Currency, magnitude: str | None, singular: bool, british: bool
) -> str:
    if magnitude:
        units = currency.unit if singular else currency.units
        return f"{_plain(number, british)} {_MAGNITUDES[magnitude]} {units}"
    whole, _, fraction = number.replace(",", "").partition(".")
    if len(fraction) > 2:
        return f"{_plain(number, british)} {currency.units}"
    amount, cents = int(whole or 0), int(fraction.ljust(2, "0"))
    words = []
    if amount or not cents:
        name = currency.unit if singular or amount == 1 else currency.units
        words.append(f"{cardinal(amount, british)} {name}")
    if cents:
        name = currency.cent if cents == 1 else currency.cents
        words.append(f"{cardinal(cents)} {name}")
    return " and ".join(words)


def _money_after(match: re.Match[str], british: bool) -> str:
    sign = match[2] if match[2] in _CURRENCIES else _CURRENCY_CODES[match[2]]
    return _amount(match[1], _CURRENCIES[sign], None, False, british)


def _cents(match: re.Match[str], british: bool) -> str:
    return f"{_plain(match[1], british)} {'cent' if _is_one(match[1]) else 'cents'}"


def _feet_and_inches(match: re.Match[str], british: bool) -> str:
    return f"{cardinal(int(match[1]))} foot {cardinal(int(match[2]))}"


def _measure(match: re.Match[str], british: bool) -> list[Piece]:
    minus, low, high, unit, power, per = match.groups()
    name = _UNITS[unit]
    if not (_is_one(low) and not high):
        name = _UNIT_PLURALS.get(name) or plural(name)
    if power:
        name = ("square " if power in "²2" else "cubic ") + name
    if per:
        name += f" per {_PER.get(per) or _UNITS[per]}"
    words = _plain(low, british) + (f" to {_plain(high, british)}" if high else "")
    end = match.end(3) if high else match.end(2)
    return [
        Piece(f"{'minus ' if minus else ''}{words}", match.start(), end),
        Piece(" ", end, match.start(4)),
        Piece(name, match.start(4), match.end()),
    ]


def _fraction(match: re.Match[str], british: bool) -> str:
    whole, above, below = match[1], int(match[2]), int(match[3])
    if (above, below) in _NOT_FRACTIONS:
        return f"{cardinal(above)} {cardinal(below)}"
    if above >= below or not 2 <= below <= 20 or (whole is None and above > 12):
        return f"{whole or ''} {cardinal(above)} slash {cardinal(below)}".strip()
    name = _DENOMINATORS.get(below) or ordinal(below)
    if above > 1:
        name = plural(name)
    count = "a" if whole and below == 2 else cardinal(above)
    return (f"{_plain(whole.strip(), british)} and " if whole else "") + f"{count} {name}"


def _ordinal(match: re.Match[str], british: bool) -> str:
    return ordinal(int(match[1].replace(",", "")), british)


def _decade(match: re.Match[str], british: bool) -> str:
    text = match[1] or match[2] or match[3]
    words = year(int(text), british) if len(text) == 4 else cardinal(int(text))
    return plural(words)


def _range(match: re.Match[str], british: bool) -> str:
    low, high = match[1], match[2]
    if _looks_like_year(low) and (_looks_like_year(high) or len(high) == 2):
        first = year(int(low), british)
        second = year(int(high), british) if len(high) == 4 else cardinal(int(high))
        return f"{first} to {second}"
    return f"{_plain(low, british)} to {_plain(high, british)}"


def _looks_like_year(text: str) -> bool:
    return len(text) == 4 and text.isdigit() and 1100 <= int(text) <= 2099


def _dotted(match: re.Match[str], british: bool) -> str:
    joint = " dot " if match[0].count(".") == 3 else " point "
    parts = match[0].split(".")
    return joint.join(cardinal(int(p)) if len(p) < 3 else digits(p) for p in parts)


def _version(match: re.Match[str], british: bool) -> str:
    joined = " point ".join(cardinal(int(part)) for part in match[1].split("."))
    return f"version {joined}"


_COUNTED_AFTER = re.compile(r"\s+(?:people|men|women|children|of\b|more|fewer|[a-z]{3,}[^s\W]s\b)")


def _year(match: re.Match[str], british: bool) -> str:
    """Read four digits as a year unless something is counted, as in "1234 votes"."""
    if match[1][2:] != "00" and _COUNTED_AFTER.match(match.string, match.end()):
        return cardinal(int(match[1]), british)
    return year(int(match[1]), british)


def _signed(match: re.Match[str], british: bool) -> str:
    sign = {"-": "minus ", "−": "minus ", "+": "plus ", "±": "plus or minus ", "~": "about "}
    return sign[match[1]] + _plain(match[2], british)


def _with_magnitude(match: re.Match[str], british: bool) -> str:
    return f"{_plain(match[1], british)} {_MAGNITUDES[match[2]]}"


def _number(match: re.Match[str], british: bool) -> str:
    """Read any remaining number, separating it from adjacent letters: "MP3", "4K"."""
    before = match.string[match.start() - 1 : match.start()]
    after = match.string[match.end() : match.end() + 1]
    words = _plain(match[0], british) if before != "." else digits(match[0])
    return (" " if before.isalpha() else "") + words + (" " if after.isalpha() else "")


_HALF_DAY = r"([aApP]\.?[mM])\b"

_RULES: tuple[Rule, ...] = (
    (re.compile(r"\d{31,}"), _digits),
    (re.compile(r"(?<![\d-])(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?![\d-])"), _iso_date),
    (re.compile(rf"{_START}(\d{{1,2}})/(\d{{1,2}})/(\d{{4}}|\d\d)(?![\d/])"), _slash_date),
    (
        re.compile(
            rf"\b(?P<month>{_MONTH})\s+(?P<day>\d{{1,2}})(?P<suffix>st|nd|rd|th)?"
            rf"(?![:\w%]|\.\d|{_DASH}\d)(?:,?\s+(?P<year>\d{{4}})\b)?"
        ),
        _month_day,
    ),
    (
        re.compile(
            rf"(?:\bthe\s+)?{_START}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?"
            rf"(?P<month>{_MONTH})\b(?:,?\s+(?P<year>\d{{4}})\b)?"
        ),
        _day_month,
    ),
    (re.compile(rf"\b({_MONTH})(,?)\s+(1\d{{3}}|20\d\d)\b"), _month_year),
    (
        re.compile(
            rf"{_START}(\d{{1,2}}(?::\d\d)?\s?(?:{_HALF_DAY})?){_DASH}"
            rf"(?=\d{{1,2}}(?::\d\d|\s?{_HALF_DAY}))"
        ),
        _time_range,
    ),
    (
        re.compile(
            rf"{_START}([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d))?(?![:\d])(?:\s?{_HALF_DAY})?"
        ),
        _clock,
    ),
    (re.compile(rf"{_START}(1[0-2]|0?[1-9])\s?{_HALF_DAY}"), _hour),
    (re.compile(rf"{_START}({_NUMBER}):({_NUMBER}){_END}"), _ratio),
    (
        re.compile(
            r"(?<![\w.])(?:\+?\d{1,3}[-. ])?(?:\(\d{3}\)[-. ]?|\d{3}[-. ])\d{3}[-. ]\d{4}"
            r"(?![\d-]|\.\d)"
            r"|(?<![\w.-])\d{3}-\d{4}(?![\d-])"
        ),
        _phone,
    ),
    (
        re.compile(
            r"(-)?(?:\b(US|CA|AU|NZ|HK|A|C))?([$£€¥₹₩₽₿])\s?"
            rf"({_NUMBER})(?:{_DASH}[$£€¥₹₩₽₿]?({_NUMBER}))?{_MAGNITUDE}"
            rf"(?:/({'|'.join(sorted(_PER, key=len, reverse=True))})\b)?"
        ),
        _money,
    ),
    (
        re.compile(rf"{_START}({_NUMBER})\s?([€£₹¥]|(?:{'|'.join(_CURRENCY_CODES)})\b)"),
        _money_after,
    ),
    (re.compile(rf"{_START}({_NUMBER})\s?¢"), _cents),
    (
        re.compile(
            r"(?<![\w.])(?:'?(\d{3}0)|'(\d0)|(?:(?<=the )|(?<=early )|(?<=late )|(?<=mid-)"
            r"|(?<=his )|(?<=her )|(?<=their ))(\d0))'?s\b"
        ),
        _decade,
    ),
    (re.compile(rf"{_START}(\d)'\s?(\d{{1,2}})(?:\"|''|”)"), _feet_and_inches),
    (re.compile(rf"{_START}(\d)\s?ft\.?\s(\d{{1,2}})\s?in\b"), _feet_and_inches),
    (re.compile(rf"{_START}(\d{{1,3}}\s)?(\d{{1,2}})/(\d{{1,2}})(?![\w/])"), _fraction),
    (
        re.compile(
            rf"(?<![\w.,])([-−])?({_NUMBER})(?:{_DASH}({_NUMBER}))?\s?"
            rf"({_UNIT})([²³]|(?<=m)[23](?!\w))?(?:/({_PER_UNIT}))?(?![\w²³])"
        ),
        _measure,
    ),
    (re.compile(r"(?<![\w.])(\d{1,3}(?:,\d{3})+|\d+)(?:st|nd|rd|th)\b"), _ordinal),
    (re.compile(r"(?<!\w)#\s?(\d)"), _hash_number),
    (
        re.compile(
            r"\b((?:Room|Flight|Boeing|Airbus|Highway|Interstate|Suite|Apartment)\s+)"
            r"([1-9]\d{2,3})(?![\w.,-]*\d)"
        ),
        _designation,
    ),
    (re.compile(r"(?<![\w.])(\d{3,4})p\b"), _video_lines),
    (re.compile(r"(?<![\w.,$£€-])911(?![\w%-]|[.,]\d)|(?<=\b[dD]ial )\d{3}\b"), _emergency),
    (re.compile(r"\b[vV](\d{1,3}(?:\.\d{1,3}){1,3})\b"), _version),
    (re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,4}){2,}(?![\w])"), _dotted),
    (re.compile(rf"{_START}({_NUMBER})\s?[-–—]\s?({_NUMBER})(?![\w-]|[.,]\d)"), _range),
    (re.compile(rf"{_START}([-−+±~])\s?({_NUMBER})(?!\w)"), _signed),
    (re.compile(rf"{_START}({_NUMBER})(k|M|bn|tn)\b"), _with_magnitude),
    (re.compile(r"(?<![\w.,$#-])(1[1-9]\d\d|20\d\d)(?![\w-]|[.,]\d)"), _year),
    (re.compile(_NUMBER), _number),
)


def expand_numerals(text: Traced, british: bool = False) -> Traced:
    """Replace every run of ASCII digits, with the signs and units that belong to it, by words.

    `british` chooses "one hundred and one", day before month, and the spelling of nothing else.
    """
    for pattern, replacement in _RULES:
        text = text.sub(pattern, lambda match, f=replacement: f(match, british))  # type: ignore[misc]
    return text
