"""Years, decades, periods and ages."""

from __future__ import annotations

import re

from ..tracked import Piece, Replacement
from .counts_or_years import is_count
from .number_forms import DASH, in_the_plural
from .numbers import cardinal, plural, year
from .rules import Rule


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


_NAME_BEFORE = re.compile(
    r"\b(?!(?:Ages?|Chapters?|Doses?|Figures?|Grades?|Lines?|Pages?|Parts?|Ranges?|Sections?|Tables?)\b)"
    r"[A-Z][\w'’]*(?:\s(?:dynasty|era|period|empire|kingdom|caliphate|reign))?\s\($"
)


def _lifetime(match: re.Match[str], british: bool) -> Replacement:
    """Years of three digits behind a name: "the Sui (581–618)", but not "Celtics (45-15)"."""
    first, last = int(match[1]), int(match[2])
    before = match.string[max(0, match.start() - 50) : match.start()]
    rounded = first % 10 == last % 10 == 0
    if rounded or not first < last < 1800 or not _NAME_BEFORE.search(before):
        return match[0]
    return _era(match, british)


def _fiscal(match: re.Match[str], british: bool) -> str:
    words = f" {year(int(match[2]), british)}"
    if match[3]:
        words += " " if match[3] == "/" else " to "
        words += cardinal(int(match[4]))
    return words


def _years(match: re.Match[str], british: bool) -> Replacement:
    """Four digits after a word such as "in" unless something is counted, as in "1050 votes"."""
    if is_count(match, match[match.lastindex or 1]) and not _is_period(match):
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
    counted = is_count(match, match[1])
    if match[1][2:] != "00" and counted and not match.string[: match.start()].endswith("year "):
        return cardinal(int(match[1]), british)
    return year(int(match[1]), british)


def _short_year(match: re.Match[str], british: bool) -> str:
    return f"oh {cardinal(int(match[1]))}"


def _years_of_century(match: re.Match[str], british: bool) -> str:
    """Two years of one century: "1845-'50"."""
    return f"{year(int(match[1]), british)} to {cardinal(int(match[2]))}"


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


_TIMED = r"\s(?:timer|timeout|countdown|clip|video|delay|interval|limit|mark|pause|rest)\b"

_POWERS_OF_TEN = {
    "10": "tens",
    "100": "hundreds",
    "1000": "thousands",
    "10000": "tens of thousands",
    "100000": "hundreds of thousands",
    "1000000": "millions",
}


def _power_of_ten(match: re.Match[str], british: bool) -> str:
    """The unit that something is counted in, "1,000s of people", without a "one"."""
    return _POWERS_OF_TEN[match[match.lastindex or 1].replace(",", "")]


YEARS: tuple[Rule, ...] = (
    (
        re.compile(
            r"(?<![\w.,$£€-])(10{1,3}|1,000|100?,?000|1,?000,?000)['’]?s"
            r"(?=\sof\b|\s(?:and|or)\s1,?000s\b|\s(?:place|column|digit)s?\b)"
            r"|(?<=\b100s and )(1,?000)s\b|(?<=\b[Ii]n the )(100)s\b(?!\s[A-Za-z])"
        ),
        _power_of_ten,
    ),
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
            r"|(?:(?<=[Tt]he )|(?<=[Ee]arly )|(?<=[Ll]ate )|(?<=[Mm]id-)|(?<=[Mm]id )|(?<=pper )"
            r"|(?<=[Ll]ower )|(?<=his )|(?<=her )|(?<=their )|(?<=my )|(?<=0s to )|(?<=0s and )"
            r"|(?<=0s or ))(\d0)"
            r"|(?<![\w.,$£€-])(\d0)(?='?s (?:kids?|music|era|fashion|rock|pop|bab(?:y|ies)|hits?"
            r"|movies?|films?|style|nostalgia|shows?|vibes?|child|children|songs?|party|sitcoms?)\b))"
            rf"'?s\b(?!{_TIMED})"
        ),
        _decade,
    ),
    (
        re.compile(
            r"(?:(?<=\b[Ll]ow )|(?<=\b[Hh]igh )|(?<=\b[Mm]id )|(?<=\b[Ll]ow-)|(?<=\b[Hh]igh-)"
            rf"|(?<=\b[Mm]id-to-high )|(?<=\b[Mm]id to high )|(?<=\b[Ll]ow to mid ))"
            rf"(\d{{1,3}})['’]?s\b(?!{_TIMED})"
        ),
        in_the_plural,
    ),
    (
        re.compile(r"(?<![\w.,$£€-])(1[5-9]\d\d)[-–]'(\d\d)(?![\w-]|[.,]\d)"),
        _years_of_century,
    ),
    (re.compile(r"(?<!\w)'0(\d)(?![\w'])"), _short_year),
    (
        re.compile(
            rf"(?<![\w.,])(\d{{1,4}})(?:{DASH}(\d{{1,4}}))?(?=\s?(?:BCE?|CE|AD|A\.D|B\.C(?:\.E)?)\b)"
        ),
        _era,
    ),
    (re.compile(r"(?<=\()(\d{3})[-–](\d{3,4})(?=\))"), _lifetime),
    (re.compile(r"(?:\bAD|\bA\.D)\s(\d{1,4})(?![\w-]|[.,]\d)"), _era),
    (re.compile(r"(?<=\bFY)(\s?)((?:19|20)\d\d)\b(?:([/–-])(\d\d)\b)?"), _fiscal),
    (
        re.compile(r"(?:\b[Pp]re-|\b[Pp]ost-|\b[Mm]id-)(1\d{3}|20\d\d)(?![\w-]|[.,]\d)"),
        _era,
    ),
    (
        re.compile(
            r"\b(?:[Ff]rom|[Bb]etween|[Yy]ears) (1[0-9]\d\d|20\d\d)"
            rf"(?: (?:to|and|until|till) |{DASH})"
            r"(1[0-9]\d\d|2[0-3]\d\d)(?![\w-]|[.,]\d)"
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
            r"(?:(?<=\b2[01]\d\d,\s)|(?<=\b2[01]\d\d\sor\s)|(?<=\b2[01]\d\d\sand\s)|(?<=\b2[01]\d\d,\sand\s))"
            r"(2[1-3]\d\d)(?![\w%-]|[.,]\d)"
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
