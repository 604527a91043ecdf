"""Rewrite ways to write numbers and units that other rules do not know as ones that they know."""

from __future__ import annotations

import re

from ..tracked import Piece, Replacement
from .dates import MONTHS
from .letters import LETTER_A
from .mathematics import SUPERSCRIPTS
from .measures import PER_UNIT, UNIT, unit_per
from .number_forms import minus
from .numbers import cardinal, digits, fraction, year
from .rules import Rule

_METRIC = r"k?g|m[lL]|[lL]|[cmk]?m|km/h|kph"
_CUSTOMARY = r"oz|lbs?|fl\.? oz|in|inch(?:es)?|ft|pt|pints?|cups?|tbsp|tsp|mi(?:les)?|gal|mph"


_CALLED = re.compile(r"\b(?:call|dial|phone|ring|text|tel|fax)\b[^.;!?]{0,12}$", re.IGNORECASE)


def _comma(match: re.Match[str], british: bool) -> Replacement:
    """The spaces between the thousands of "10 000" and "1 234 567"."""
    if _CALLED.search(match.string, max(0, match.start() - 20), match.start()):
        return ", ".join(map(digits, match[0].split()))
    return [
        Piece(",", space, space + 1)
        for space in range(*match.span())
        if match.string[space].isspace()
    ]


def _same(match: re.Match[str], british: bool) -> list[Piece]:
    """The slash between two measures of the same: "200g/7oz"."""
    return [Piece(", ", *match.span(match.lastindex or 0))]


def _per_power(match: re.Match[str], british: bool) -> Replacement:
    """A unit with a negative power: "m s⁻²" is "m/s²", and "cm⁻¹" is "per centimeter"."""
    power = match[3].replace("¹", "")
    start = match.end(1) if match[1] else match.start()
    if match[1]:
        return [Piece(f"/{match[2]}{power}", start, match.end())]
    return [Piece(f" per {unit_per(match[2], power or None)}", start, match.end())]


_SIGNED_POWER = re.compile(r"[-−]([123])(?!\d)")
# Units that have a power with a plain sign, "kg ha-1".
_DIVISOR = (
    "(?:k?g|[mµd]?L|l|[ckm]?m|ha|s|sec|h|hr|min|d|day|yr|year|k?mol|mmol|K|k?Pa|W|V|N|J)[-−][123]"
)


def _negative_powers(match: re.Match[str], british: bool) -> list[Piece]:
    """Powers of units with a plain sign: "m s-1" is "m s⁻¹"."""
    return [
        Piece(f"⁻{'¹²³'[int(power[1]) - 1]}", *power.span())
        for power in _SIGNED_POWER.finditer(match.string, *match.span())
    ]


def _squared(match: re.Match[str], british: bool) -> list[Piece]:
    """The power of a statistic: "χ2 = 4.5"."""
    return [Piece("²", *match.span(1 if match[1] else 2))]


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
        Piece(", " if sign[0] == "/" else f"°{sign[0]}", *sign.span())
        for sign in re.compile("[CF]|/").finditer(match.string, *match.span())
    ]


def _rooms(match: re.Match[str], british: bool) -> list[Piece]:
    """Bedrooms and baths: "3BR/2BA"."""
    return [Piece(" bedroom, ", *match.span(1)), Piece(" bath", *match.span(2))]


def _bedrooms(match: re.Match[str], british: bool) -> str:
    return " bedroom"


def _height(match: re.Match[str], british: bool) -> str:
    """Feet and inches with a half: 5'7 1/2"."""
    feet, inches, above, below = map(int, match.groups())
    part = fraction(above, below, behind_whole=True)
    return f"{cardinal(feet)} foot {cardinal(inches)} and {part}"


def _shells(match: re.Match[str], british: bool) -> str:
    """Electrons of an atom: "1s² 2s² 2p⁶"."""
    shells = re.findall(r"(\d)([spdf])([⁰¹²³⁴-⁹]+)", match[0])
    return ", ".join(
        f"{cardinal(int(n))} {kind} {cardinal(int(many.translate(SUPERSCRIPTS)))}"
        for n, kind, many in shells
    )


def _nothing(match: re.Match[str], british: bool) -> str:
    return ""


def _point(match: re.Match[str], british: bool) -> str:
    return "."


def _transposed(match: re.Match[str], british: bool) -> list[Piece]:
    letter = LETTER_A if match[1] == "A" else match[1]
    return [Piece(f"{letter} transpose", *match.span())]


def _over(match: re.Match[str], british: bool) -> list[Piece]:
    """The bar of "c/d" in a sum or an equation."""
    return [Piece(" over ", *match.span(1 if match[1] else 2))]


def _later_year(match: re.Match[str], british: bool) -> Replacement:
    """The last digit of a later year: "1990–2"."""
    if match[3] <= match[2]:
        return match[0]
    return [Piece(f"-{match[1][2]}{match[3]}", match.end(2), match.end())]


def _to(match: re.Match[str], british: bool) -> list[Piece]:
    group = next((i for i in range(1, len(match.groups()) + 1) if match[i]), 0)
    return [Piece(" to ", *match.span(group))]


def _number_sign(match: re.Match[str], british: bool) -> str:
    return "number "


def _central(match: re.Match[str], british: bool) -> str:
    """Times of programmes in two zones: "8/7c"."""
    return f"{cardinal(int(match[1]))}, {cardinal(int(match[2]))} central"


def _scale(match: re.Match[str], british: bool) -> list[Piece]:
    """The scale of "Temp: 98.6 F"."""
    return [Piece(f"°{match[2]}", match.end(1), match.end())]


def _point_of_compass(match: re.Match[str], british: bool) -> str:
    return {"N": "north ", "S": "south ", "E": "east ", "W": "west "}[match[1]]


def _counted_per(match: re.Match[str], british: bool) -> str:
    """What there is in a unit: "5,000/km²"."""
    return f" per {unit_per(match[1], match[2])}"


def _lettered_year(match: re.Match[str], british: bool) -> str:
    """A year with a letter, as works of one year are told apart: "Jones (1998a, 1998b)"."""
    letter = LETTER_A if match[2] == "a" else match[2]
    return f"{year(int(match[1]), british)} {letter}"


def _charge(match: re.Match[str], british: bool) -> str:
    """The charge of an ion: "SO4^2-" is "SO4²⁻"."""
    number = match[1].translate(str.maketrans("123456789", "¹²³⁴⁵⁶⁷⁸⁹"))
    return number + ("⁺" if match[2] == "+" else "⁻")


NOTATIONS: tuple[Rule, ...] = (
    (re.compile(r"(?<!\w)[χη](2)(?![\w.,(]|\s?/)|(?<!\w)χ(2)(?=\()"), _squared),
    (re.compile(r"(?<=[A-Za-z\d)])\^([1-9]?)([-−+])(?![\w(])"), _charge),
    (re.compile(r"(?<=[\s(])((?:1[89]|20)\d\d)([a-f])(?=[;,):])"), _lettered_year),
    (
        re.compile(r"(?<=\d)/(km|[cm]m|m(?=[²³])|[mdµ]?L|ml|kg|ha|min|hr)([²³])?(?![\w²³/])"),
        _counted_per,
    ),
    (
        re.compile(r"(?<![\w.,])(\d)['′]\s?(\d|1[01])\s(\d)/(\d{1,2})(?:\"|″|”|'')"),
        _height,
    ),
    (re.compile(r"\b((?:19|20)\d)(\d)–(\d)(?!\d|[.,]\d|-)"), _later_year),
    (
        re.compile(
            r"\b(?:1[1-9]|20)\d\d(\s?[-–—]\s?)(?=(?:present|now|today|date)\b)"
            r"|(?<='\d\d)(\s?[-–]\s?)(?='\d\d\b)"
            rf"|(?<='\d\d)(\s?[-–]\s?)(?=(?:{'|'.join(MONTHS)})\b)"
            r"|(?<=\b[QH]\d\s\d{4})(\s?[-–]\s?)(?=[QH]\d\b)"
            r"|\b\d{1,4}\s(?:BCE?|AD|CE)(\s?[-–]\s?)(?=(?:AD\s)?\d{1,4}\b)"
            r"|(?<=\(\d\))(–)(?=\(\d{1,3}\))"
        ),
        _to,
    ),
    (
        re.compile(r"(?<![\w.])[1-7][spdf][⁰¹²³⁴-⁹]{1,2}(?:\s?[1-7][spdf][⁰¹²³⁴-⁹]{1,2})+(?!\w)"),
        _shells,
    ),
    (re.compile(r"(?<=\d:\d\d:\d\d),(?=\d{3}(?!\d))"), _point),
    (
        re.compile(r"\b[Ss]ections?\s\d{3,4}(\s?[-–]\s?)(?=\d{2,4}(?![\w-]|[.,]\d))"),
        _to,
    ),
    (re.compile(r"(?<!\w)[-−]\s?(?=∞)"), minus),
    (re.compile(r"\b([A-Z])\^T\b"), _transposed),
    (
        re.compile(
            r"(?<![\w/])[b-z](/)[b-z](?=\s?[+=×·])(?!\w)|(?<=[+=×·]\s)[b-z](/)[b-z](?![\w/])"
        ),
        _over,
    ),
    (re.compile(r"(?<!\w)#(?=\d{4,}-\d{4}\b)"), _number_sign),
    (re.compile(r"(?<![\w/.,])(\d{1,2})/(\d{1,2})c\b"), _central),
    (
        re.compile(
            r"\b(?:[Tt]emp(?:erature)?|[Hh]ighs?|[Ll]ows?)\.?:?\s(?:is\s|was\s|of\s|near\s|around\s)?"
            r"(\d{2,3}(?:\.\d)?)\s?([FC])\b"
        ),
        _scale,
    ),
    (
        re.compile(r"(?<![\d\"'′″”°])(?<![\"'′″”°] )\b([NSEW])\s?(?=\d{1,3}(?:\.\d+)?\s?°)"),
        _point_of_compass,
    ),
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
            rf"(?<=\d)[\s-]?(?:{_METRIC})(\s?/\s?)(?=\d[\d./]*[\s-]?(?:{_CUSTOMARY})\b|\d['′]\d)"
            rf"|(?<=\d)[\s-]?(?:{_CUSTOMARY})(\.?\s?/\s?)(?=\d[\d./]*[\s-]?(?:{_METRIC})\b)"
            r"|(?<=\d)(?:\"|”|″|'')(\s?/\s?)(?=\d{3}\s?cm\b)"
        ),
        _same,
    ),
    (re.compile(r"(?<=\d)\s?°(\s)(?=[CF]\b)"), _degrees),
    (
        re.compile(r"(?<=\d)\s?°[CF](\s?/\s?)(?=\d|[Gg]as\b)|\b[Ff]an(/)(?=\d{3}\s?°F|[Gg]as\b)"),
        _same,
    ),
    (re.compile(r"(?:(?<=\d min)|(?<=\d hr)|(?<=\d sec))\.(?=/[a-z])"), _nothing),
    (
        re.compile(
            r"\b\d{2,3}[CF]/\d{2,3}[CF](?:\sfan|\b)(?:/(?=[Gg]as\b))?|\b\d{2,3}C(?=\s(?:fan|oven)\b)"
            r"|(?<=\boven to )\d{2,3}C\b"
        ),
        _oven,
    ),
    (
        re.compile(
            r"(?:(?<=[\d⁰¹²³⁴-⁹])|(?<=[\d⁰¹²³⁴-⁹] ))"
            rf"(?:(?:{UNIT})[·\s]{_DIVISOR}|(?:[cm]?m|s|h|min|yr)[-−]1)"
            rf"(?:[·\s]{_DIVISOR}){{0,2}}(?![\w-]|[.,]\d|\s?(?:{UNIT})\b)"
        ),
        _negative_powers,
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
