"""Expand everything that is written with digits into words.

The rules run in the order of `_RULES`: what needs more context (dates, times, money) comes before
what needs less. After the last one no digit is left.
"""

from __future__ import annotations

import re

from ..tracked import Piece, Tracked
from .aviation import AVIATION
from .chemistry import FORMULAS, ISOTOPES
from .chess import CHESS
from .chords import CHORDS
from .codes import CODES, characters
from .dates import DATES, MONTHS
from .designations import DESIGNATIONS, MODELS, VERSIONS
from .letters import LETTER_A, letter_piece
from .lines import LINES
from .magnitudes import MAGNITUDES, MILLIONS
from .mathematics import EQUATIONS, POWERS
from .measures import UNIT, UNITS
from .money import MONEY
from .notations import NOTATIONS
from .number_forms import (
    NUMBER,
    START,
    apart,
    apart_within,
    looks_like_year,
    plain,
    side_by_side,
    to_next,
)
from .numbers import cardinal, digits, in_pairs, ordinal, plural, year
from .phones import EXTENSION, KEYPAD, PHONES
from .rules import Rule
from .scripture import VERSES
from .sizes import INCHES, MIXED_SIZES, SIZES
from .sports import BATTING, CRICKET, RECORDS, british_score, is_score
from .streets import DIRECTIONS, HOUSES, PLACES
from .tables import word_sets
from .times import TIMES
from .vulgar_fractions import FRACTIONS
from .years import BARE_YEAR, YEARS


def _digits(match: re.Match[str], british: bool) -> str:
    return f" {digits(match[0])} "


def _lettered(match: re.Match[str], british: bool) -> list[Piece]:
    """The letter A before a number: "A4"."""
    return [letter_piece(match, 1), Piece(" ", match.end(1), match.end())]


def _cards(match: re.Match[str], british: bool) -> list[Piece]:
    """Numbers of which there are several: "two 5s"."""
    return [Piece(plural(cardinal(int(match[2]))), match.start(2), match.end())]


def _caliber(match: re.Match[str], british: bool) -> str:
    """The bore of a gun: "a .357 Magnum", "a .50-cal rifle"."""
    words = in_pairs(match[1] or match[3], british)
    return f"{words} caliber" if match[2] else words


def _after_number(match: re.Match[str], british: bool) -> list[Piece]:
    """The letter A after a number: "Figure 3a"."""
    return [Piece(f" {LETTER_A} ", *match.span(1))]


_CODED = "|".join(sorted(word_sets("coded")["noun"]))


def _code(match: re.Match[str], british: bool) -> list[Piece]:
    group = 1 if match[1] else 2
    number = match[group]
    status = re.fullmatch(r"[1-9]00", number) and group == 1  # "status code 500"
    apart = " " * match.string[match.end(group) : match.end(group) + 1].isalpha()
    words = in_pairs(number) if status else digits(number)
    return [Piece(words + apart, *match.span(group))]


def _hash_number(match: re.Match[str], british: bool) -> str:
    joined = match.string[match.start() - 1 : match.start()].isalpha()  # "MLS#"
    return " " * joined + "number " + (digits(match[1]) if len(match[1]) > 4 else match[1])


def _weakness(match: re.Match[str], british: bool) -> str:
    """The year and the number of a weakness of a program: "CVE-2023-4911"."""
    number = in_pairs(match[2], british) if len(match[2]) == 4 else digits(match[2])
    return f" {year(int(match[1]), british)}, {number}"


def _scientific(match: re.Match[str], british: bool) -> str:
    sign = "minus " if match[2] in "-−" and match[2] else ""
    return f"{plain(match[1], british)} times ten to the {sign}{cardinal(int(match[3]))}"


def _at_least(match: re.Match[str], british: bool) -> str:
    return {"<": "less than ", ">": "more than ", "≤": "at most ", "≥": "at least "}[match[1]]


def _temperature(match: re.Match[str], british: bool) -> str:
    scale = "Fahrenheit" if match[2] == "F" else "Celsius"
    return f"{plain(match[1], british)} degrees {scale}"


def _about(match: re.Match[str], british: bool) -> str:
    return "about "


def _hexadecimal(match: re.Match[str], british: bool) -> str:
    """Digits of base sixteen: "0xFF", "#FF8800"."""
    words = [digits(c) if c.isdecimal() else c.upper() for c in match[1] or match[2]]
    letters = [LETTER_A if word == "A" else word for word in words]
    return " ".join(["zero X" if match[1] else "hash", *letters])


def _code_point(match: re.Match[str], british: bool) -> str:
    """The number of a character: "U+1F600"."""
    return f"U plus {characters(match[1])}"


def _preprint(match: re.Match[str], british: bool) -> str:
    """The number of a preprint: "arXiv:1706.03762"."""
    return f" {in_pairs(match[1], british)} point {digits(match[2])}"


def _for_its_sound(match: re.Match[str], british: bool) -> str:
    """A digit that stands for the first letter of its name: "6ix", "9ine"."""
    after = match.string[match.end() : match.end() + 1]
    before = match.string[match.start() - 1 : match.start()]
    return " " * before.isalpha() + cardinal(int(match[0][0])) + " " * after.isalnum()


def _based(match: re.Match[str], british: bool) -> str:
    """Digits of base two or eight: "0b1010", "0o755"."""
    return f"zero {match[1].upper()} {digits(match[2])}"


def _player(match: re.Match[str], british: bool) -> str:
    """One of a year, a size or a score: "the 49ers", "a 29er"."""
    number = cardinal(int(match[1]), british)
    return number + ("r" if number.endswith("e") else "er") + match[2]


def _ordinal(match: re.Match[str], british: bool) -> str:
    words = ordinal(int(match[1].replace(",", "")), british)
    return plural(words) if match[2] else words


def _plural_number(match: re.Match[str], british: bool) -> str:
    return plural(in_pairs(match[1], british))


def _is_month_of_year(low: str, high: str) -> bool:
    """Whether "2020-05" is a month, as 05 is no later year and 1999-01 no winter."""
    if not (looks_like_year(low) and len(high) == 2):
        return False
    return 0 < int(high) <= 12 and int(high) < int(low[2:]) < 95


def _range(match: re.Match[str], british: bool) -> str:
    low, high = match[1], match[2]
    if _is_month_of_year(low, high):
        return f"{MONTHS[int(high) - 1]} {year(int(low), british)}"
    if looks_like_year(low) and (looks_like_year(high) or len(high) == 2):
        first = year(int(low), british)
        if len(high) == 4:
            second = year(int(high), british)
        elif high == "00":
            second = year((int(low) // 100 + 1) * 100, british)
        else:
            second = "oh " * high.startswith("0") + cardinal(int(high))
        return f"{first} to {second}"
    if british and max(len(low), len(high)) < 3 and is_score(match):
        return british_score(match)
    spaced = match.string[match.end(1)].isspace() and not (looks_like_year(low))
    falls = float(low.replace(",", "")) > float(high.replace(",", ""))
    if spaced and falls and not is_score(match):
        return f"{plain(low, british)} minus {plain(high, british)}"
    if low == high:
        return f"{plain(low, british)} {plain(high, british)}"
    return f"{plain(low, british)} to {plain(high, british)}"


# Words before a dash, but not those that say where a number below zero lies: "fell to - 5".
_WORD_BEFORE = re.compile(
    r"(?<![\w'’-])(?!(?i:(?:is|are|was|were|be|at|to|of|or|and|by|near|from|than|below|above|about"
    r"|around|over|under|between|nearly|reached|hit|like|equals)\s))"
    r"[A-Za-z][\w'’-]{0,30}[A-Za-z][)”\"]?\s$"
)
_BELOW_ZERO = re.compile(r"\s?(?:=|°|degrees?\b|equals\b)")


def _is_dash(match: re.Match[str]) -> bool:
    """Whether a hyphen between spaces is a dash: "one state - 5,000 people - voted"."""
    if not match[0].startswith("- "):
        return False
    before = match.string[max(0, match.start() - 36) : match.start()]
    return bool(_WORD_BEFORE.search(before)) and not _BELOW_ZERO.match(match.string, match.end())


def _signed(match: re.Match[str], british: bool) -> str:
    if _is_dash(match):
        return match[0]
    sign = {
        "-": "minus ",
        "−": "minus ",
        "+": "plus ",
        "±": "plus or minus ",
    }
    return sign[match[1]] + plain(match[2], british)


def _number(match: re.Match[str], british: bool) -> str:
    """Read any remaining number, separating it from adjacent letters: "MP3", "4K"."""
    before = match.string[match.start() - 1 : match.start()]
    after = match.string[match.end() : match.end() + 1]
    words = plain(match[0], british) if before != "." else digits(match[0])
    return (" " if before.isalpha() else "") + words + (" " if after.isalpha() else "")


def _plural_named(match: re.Match[str], british: bool) -> list[Piece]:
    """Several things of one name and number: "Air Jordan 1s", "two No. 1s"."""
    return [Piece(plural(in_pairs(match[1], british)), match.start(1), match.end())]


_RULES: tuple[Rule, ...] = (
    *AVIATION,
    *CODES,
    *CHORDS,
    *CHESS,
    *NOTATIONS,
    (
        re.compile(r"\d{31,}|(?<![\w.,$£€¥-])(?=\d{12})\d{6,24}[1-9]\d{0,5}(?![\w%]|[.,]\d)"),
        _digits,
    ),
    (re.compile(r"(?<=\barXiv:)(\d{4})\.(\d{4,5})\b"), _preprint),
    (re.compile(r"(?<![\w~/])~\s?(?=[$£€¥]?\.?\d)"), _about),
    (re.compile(r"\b0x([0-9A-Fa-f]{1,16})(?!\w)|#(?=\w*\d)([0-9A-Fa-f]{6})(?!\w)"), _hexadecimal),
    (re.compile(r"\bU\+([0-9A-F]{4,6})\b"), _code_point),
    (re.compile(r"\b0(b(?=[01]+\b)|o)([0-7]{1,64})(?!\w)"), _based),
    *ISOTOPES,
    *DIRECTIONS,
    (
        re.compile(rf"(?<=\d)\s?(?:{UNIT})(-|\s?[–—]\s?)(?=\d[\d.,]*\s?(?:{UNIT})(?![^\W²³]))"),
        to_next,
    ),
    *VERSES,
    *LINES,
    (
        re.compile(
            r"(?<![\d.,])(?:1ne|2wo|3hree|4our|5ive|6ix|7even|8ight|9ine)(?![a-z])", re.IGNORECASE
        ),
        _for_its_sound,
    ),
    (re.compile(rf"{START}({NUMBER})\s?deg(?:rees|\.)?\s?([FC])\b"), _temperature),
    (re.compile(rf"(?<![\w.,])(?!7E7\b)({NUMBER})[eE]([-−+]?)(\d{{1,3}})(?!\w|\.\d)"), _scientific),
    (
        re.compile(r"(?<![^\s(,\"“])([<>≤≥])(?=[$£€]?\.?\d)(?!3\s*$)"),
        _at_least,
    ),
    (re.compile(r"\bK(-)(?=9s?\b(?!\s(?:school|student|education|campus)))"), apart_within),
    (re.compile(r"\bK([-–])(?=\d{1,2}\b)|(?<=[A-Z]\d)–(?=[A-Z]\d)"), to_next),
    *KEYPAD,
    (re.compile(r"(?<=\d[A-Z])([-–])(?=\d{1,2}[A-Z]\b)"), to_next),
    EXTENSION,
    (re.compile(r"(?<=\bCVE)-((?:19|20)\d\d)-(\d{4,7})\b"), _weakness),
    *CRICKET,
    *RECORDS,
    (
        re.compile(
            r"(?<![\w.])\.(\d{2,3})(?:(?=\s(?:ACP|AE|BMG|Colt|LR|Magnum|Remington|S&W|Special|Winchester"
            r"|calib(?:er|re)|rifle|pistol|revolver|handgun|bullet|round|slug)s?\b)|[-\s](cal(?:iber|ibre)?)\b\.?)"
            r"|(?<=\b[Aa] )\.(22|357|38|44|45)()(?=[.,;:!?)](?!\d)|$)"
        ),
        _caliber,
    ),
    *DATES,
    *EQUATIONS,
    *TIMES,
    *PHONES,
    *PLACES,
    *MONEY,
    (
        re.compile(
            r"(?:\b(?:Jordan|Dunk|Yeezy|Falcon|Saturn|Galaxy|Pixel|iPhone|Xbox)|(?<=[a-z] )(?:Model"
            r"|Type|Mark|Switch)|\b[A-Z][a-z]+ (?!Time|Delay|Rest|Hold|Wait|Limit|Pause|Plank"
            r"|Duration|Interval)(?:[A-Z][a-z]+|SB)(?= \ds)|\b(?i:number)"
            r"|\b(?i:two|three|four|five|several|many|these|those) [A-Z][a-z]+) (\d{1,3})s\b"
            r"(?!['’-]|\s(?:faster|slower|ahead|behind|clear|off|back|up|down|later|earlier|gap"
            r"|lead|penalty)\b)"
        ),
        _plural_named,
    ),
    (
        re.compile(
            r"(?:\b(?:[Zz]ip|ZIP)(?: [Cc]ode)?|\b[Cc]ode|\bPIN|\bOTP|\b[Pp]ass(?:code|word)|\bSKU"
            r"|\bCV[VC]2?|\b[Tt]ext [\"“”]?\w{1,20}[\"“”]? to|\b[Ss]erial number"
            r"|\b[Aa]ccount(?: number)?|\bPO(?= \d{6})"
            r"|\b[Ee]xtension|\bIMEI|\bPMID|\bUPC|\bEAN|\bGTIN|\bISBN|\bNPI|\bSSN|\bTIN"
            r"|\b(?:VIN|[Cc]ard|[Aa]cc(?:oun)?t\.?|[Pp]hone|SSN)(?: number)? (?:ends|ending|ended)"
            r" in"
            rf"|\b(?i:{_CODED}) (?:number|no\.|ID|reference)"
            r"(?=\W{1,3}(?:(?:is|was)\s)?#?\d{5}))"
            r":?\s(?:(?:is|was)(?:\snow)?:?\s)?(?:#|[*•]{1,12})?(\d{3,30})"
            r"(?![\w,.-]*\d|\s?(?:[kKMGT]B|[ck]?m|[km]?g|lbs?|oz)\b)"
            r"|(?<![\w.,$-])(\d{3}|\d{5})(?=\s(?:[Zz]ip|ZIP|area|post|postal|dial+ing) code)"
        ),
        _code,
    ),
    (re.compile(r"\b[Tt]ext (\d{5,6})(?![\w,.-]*\d)"), _code),
    *YEARS,
    (
        re.compile(
            r"\b(two|three|four|five|six|seven|eight|nine|ten|several)\s(\d{1,3})['’]?s\b"
            r"(?!\s(?:intervals?|delays?|breaks?|timeouts?|clips?|videos?|timers?|pauses?|rests?|sprints?|reps?|sets?)\b)"
        ),
        _cards,
    ),
    MIXED_SIZES,
    INCHES,
    *FRACTIONS,
    *SIZES,
    *HOUSES,
    (
        re.compile(
            r"(?:(?<=[A-Za-z]-)|(?<=[a-z]\s)(?=\d{3})|(?<=\b[Ss]ize )|(?<=\b[Aa]ll )"
            r"|(?<=\bpair of )|(?<=os and )|(?<=es and ))"
            r"(\d{1,3})['’]?s\b"
        ),
        _plural_number,
    ),
    (
        re.compile(
            r"(?:(?<=\bTable )|(?<=\b[Ff]igure )|(?<=\bExhibit )|(?<=\bItem )|(?<=\bProblem ))"
            r"(\d{1,3})-(\d{1,3})(?![\w-]|[.,]\d)"
            r"|(?<![\w.,-])(\d)-(\d)(?=\s(?:defen[sc]e|offense|formation|zone|press|alignment|scheme|count)\b)"
            r"|(?<![\w.,-])([4-7])-(\d|1[01])(?=,\s\d{3}(?:[\s-](?:pounds?|lbs?)\b|\))"
            r"|\s(?:center|forward|guard|quarterback|pitcher|linebacker|tackle|receiver|lineman)\b)"
        ),
        side_by_side,
    ),
    *MODELS,
    MILLIONS,
    *UNITS,
    (re.compile(r"(?<![\w.])(\d{1,3}(?:,\d{3})+|\d+)(?:st|nd|rd|th)(s?)\b"), _ordinal),
    (re.compile(r"(?<![\w.,-])(\d{0,2}[1-9])er(s?)\b"), _player),
    (re.compile(r"(?<!\w)#\d{1,6}(\s?[-–—]\s?#)(?=\d{1,6}(?![\w-]|[.,]\d))"), to_next),
    (
        re.compile(
            r"(?:(?<!\w)|(?<=\b[A-Z]{2})|(?<=\b[A-Z]{3}))#(?!\d+[A-Z][a-z])\s?(\d{5,}(?![\w,.-]*\d)|\d)"
        ),
        _hash_number,
    ),
    *DESIGNATIONS,
    *FORMULAS,
    (re.compile(r"(?<=\b[A-Z]\d)(-)(?=\d{2,3}\b(?![.,]\d))"), apart),
    (re.compile(r"(?<![\w.])([Aa])-?(?=\d)"), _lettered),
    (re.compile(r"(?<=\d)([Aa])(?![A-Za-z_'’.&])"), _after_number),
    BATTING,
    *VERSIONS,
    (re.compile(rf"{START}({NUMBER})\s?[-–—]\s?({NUMBER})(?!\w|-(?![a-z]{{3}})|[.,]\d)"), _range),
    (re.compile(rf"{START}([-−+±])\s?({NUMBER})(?!\w)"), _signed),
    *MAGNITUDES,
    *POWERS,
    BARE_YEAR,
    (re.compile(NUMBER), _number),
)


def expand_numerals(text: Tracked, british: bool = False) -> Tracked:
    """Replace every run of ASCII digits, with the signs and units that belong to it, by words.

    `british` chooses "one hundred and one", day before month, and the spelling of nothing else.
    """
    for pattern, replacement in _RULES:
        text = text.sub(pattern, lambda match, f=replacement: f(match, british))  # type: ignore[misc]
    return text
