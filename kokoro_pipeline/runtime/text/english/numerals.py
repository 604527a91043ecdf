"""Expand everything that is written with digits into words.

The rules run in the order of `_RULES`: what needs more context (dates, times, money) comes before
what needs less. After the last one no digit is left.
"""

from __future__ import annotations

import re

from ..tracked import Piece, Tracked
from .chemistry import FORMULAS, ISOTOPES
from .chess import CHESS
from .chords import CHORDS
from .codes import CODES
from .dates import DATES, MONTHS, OF_WHOLE, day_of_month
from .designations import DESIGNATIONS, MODELS, VERSIONS, designation
from .magnitudes import MAGNITUDES, MILLIONS
from .mathematics import EQUATIONS, LETTER_A, POWERS
from .measures import (
    INCHES,
    MIXED_SIZES,
    SIZES,
    UNIT,
    UNIT_AFTER_FRACTION,
    UNITS,
    is_quoted,
    unit_name,
    without_point,
)
from .money import MONEY
from .notations import NOTATIONS
from .number_forms import DASH, NUMBER, START, Rule, is_attributive, is_one, looks_like_year, plain
from .numbers import cardinal, digits, fraction, in_pairs, ordinal, plural, year
from .tables import table, word_sets
from .times import TIMES
from .years import BARE_YEAR, YEARS

_NOT_FRACTIONS = {(24, 7), (9, 11), (7, 11), (7, 7), (50, 50), (60, 40), (80, 20), (20, 20)}
_RATING = re.compile(
    r"\b(?:rat(?:e|ed|es|ing)|scor(?:e|ed|es|ing)|gave|give|gives|given|got|grade[ds]?|marks?|solid"
    r"|perfect|reviews?)\b[^.!?]{0,40}$",
    re.IGNORECASE,
)

_ODDS = re.compile(r"[\s-](?:odds|favou?rites?|shots?|underdogs?|outsiders?)\b")
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


def _digits(match: re.Match[str], british: bool) -> str:
    return f" {digits(match[0])} "


def _house(match: re.Match[str], british: bool) -> list[Piece]:
    """A number with a letter: "221B Baker Street", "invoice #10432-B"."""
    spoken = in_pairs(match[1], british) if len(match[1]) < 5 else digits(match[1])
    sign = "number " if match[0].startswith("#") else ""
    start = match.start() if sign else match.start(1)
    return [Piece(f"{sign}{spoken} ", start, match.start(2)), _letter_piece(match, 2)]


def _letter_piece(match: re.Match[str], group: int) -> Piece:
    letter = match[group]
    return Piece(LETTER_A if letter in "aA" else letter, *match.span(group))


def _lettered(match: re.Match[str], british: bool) -> list[Piece]:
    """The letter A before a number: "A4"."""
    return [_letter_piece(match, 1), Piece(" ", match.end(1), match.end())]


def _apart(match: re.Match[str], british: bool) -> str:
    """The hyphen of "A2-70", which is no range."""
    return " "


def _apart_at(match: re.Match[str], british: bool) -> list[Piece]:
    return [Piece(" ", *match.span(1))]


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
_LETTERED = "|".join(sorted(word_sets("coded")["lettered"]))
_CAPITALIZED = "|".join(sorted(word_sets("coded")["capitalized"]))


def _code(match: re.Match[str], british: bool) -> list[Piece]:
    group = 1 if match[1] else 2
    return [Piece(digits(match[group]), *match.span(group))]


def _hash_number(match: re.Match[str], british: bool) -> str:
    return "number " + (digits(match[1]) if len(match[1]) > 4 else match[1])


def _phone(match: re.Match[str], british: bool) -> str:
    groups = re.findall(r"\d+|[A-Z]+", match[0])
    plus = "plus " if match[0].startswith("+") else ""
    first = groups[0] == "1"
    if groups[first] in ("800", "900") and (first or groups[-1].isalpha()) and len(groups) > 2:
        groups[first] = cardinal(int(groups[first]))
    return plus + ", ".join(
        digits(group) if group.isdecimal() else group.lower() for group in groups
    )


def _extension(match: re.Match[str], british: bool) -> str:
    """The extension of a telephone number, "x204"."""
    return f", extension {digits(match[1])}"


def _weakness(match: re.Match[str], british: bool) -> str:
    """The year and the number of a weakness of a program: "CVE-2023-4911"."""
    number = in_pairs(match[2], british) if len(match[2]) == 4 else digits(match[2])
    return f" {year(int(match[1]), british)}, {number}"


_CRICKET = re.compile(
    r"\b(?:overs?|ov|wickets?|innings|declared|runs|crease|bowl(?:ed|ers?)|batt?(?:ing|ers?|sm[ae]n)"
    r"|at (?:tea|lunch|stumps|the close))\b"
)


def _innings(match: re.Match[str], british: bool) -> str:
    """Runs and wickets of cricket, "287/6 off 50 overs"."""
    cricket = _CRICKET.search(match.string, max(0, match.start() - 40), match.end() + 40)
    return f"{match[1]} for {match[2]}" if cricket else match[0]


def _star(match: re.Match[str], british: bool) -> str:
    return "star "


def _pound(match: re.Match[str], british: bool) -> str:
    return "hash" if british else "pound"


def _time_signature(match: re.Match[str], british: bool) -> str:
    return " ".join(cardinal(int(part)) for part in match.groups() if part)


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeio" or noun.startswith("hour") else "a"


def _part_of_unit(match: re.Match[str], british: bool) -> list[Piece] | str:
    """A fraction of a unit: "1/2 tsp", "2 1/2 oz."."""
    whole, above, below = match[1], int(match[2]), int(match[3])
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


def _scientific(match: re.Match[str], british: bool) -> str:
    sign = "minus " if match[2] in "-−" and match[2] else ""
    return f"{plain(match[1], british)} times ten to the {sign}{cardinal(int(match[3]))}"


def _chain(match: re.Match[str], british: bool) -> str:
    """Three or more numbers with hyphens: "4-4-2", a book's number."""
    parts = re.findall(r"\d+", match[0])
    if all(len(part) < 3 for part in parts):
        return " ".join(plain(part, british) for part in parts)
    return ", ".join(digits(part) for part in parts)


def _identifier(match: re.Match[str], british: bool) -> list[Piece]:
    """Two numbers with a hyphen that are no range: "ISSN 2049-3630"."""
    return [Piece(", ".join(map(digits, match[1].split("-"))), *match.span(1))]


def _verse(match: re.Match[str], british: bool) -> list[Piece]:
    """Chapter and verse of a book of the Bible: "Psalm 23:1-6", "Gen. 1:1"."""
    pieces = [
        Piece(_BOOK_NAMES[match[1]], *match.span(1)),
        Piece(f" {cardinal(int(match[2]))} ", match.end(1), match.start(3)),
        Piece(cardinal(int(match[3])), *match.span(3)),
    ]
    if match[4]:
        pieces += [
            Piece(" to ", match.end(3), match.start(4)),
            Piece(cardinal(int(match[4])), *match.span(4)),
        ]
    return pieces


def _part_of_book(match: re.Match[str], british: bool) -> str:
    """The number of "1 Corinthians"."""
    return _PARTS[match[0]]


def _at_least(match: re.Match[str], british: bool) -> str:
    return {"<": "less than ", ">": "more than ", "≤": "at most ", "≥": "at least "}[match[1]]


def _temperature(match: re.Match[str], british: bool) -> str:
    scale = "Fahrenheit" if match[2] == "F" else "Celsius"
    return f"{plain(match[1], british)} degrees {scale}"


_ROADS = (
    "Street|Avenue|Road|Boulevard|Drive|Lane|Highway|Parkway|Court|Place|Terrace|Way|Square"
    "|Expressway|Freeway|Turnpike|Circle|Trail|Plaza|Pike|Loop|Crossing"
)
_DIRECTIONS = {"N": "north", "S": "south", "E": "east", "W": "west"}


def _about(match: re.Match[str], british: bool) -> str:
    return "about "


def _hexadecimal(match: re.Match[str], british: bool) -> str:
    """Digits of base sixteen: "0xFF", "#FF8800"."""
    words = [digits(c) if c.isdecimal() else c.upper() for c in match[1] or match[2]]
    letters = [LETTER_A if word == "A" else word for word in words]
    return " ".join(["zero X" if match[1] else "hash", *letters])


def _direction(match: re.Match[str], british: bool) -> list[Piece]:
    """A point of the compass: "10°N", "Fifth Avenue NW", "I-80 W"."""
    return [
        Piece(
            f" {''.join(_DIRECTIONS[letter] for letter in match[1])} ", match.start(1), match.end()
        )
    ]


def _arc(match: re.Match[str], british: bool) -> str:
    """Minutes and seconds of an angle: "41°43'12\"N"."""
    parts = [("minute", match[1]), ("second", match[2])]
    words = [
        f"{plain(part, british)} {name if is_one(part) else name + 's'}"
        for name, part in parts
        if part
    ]
    direction = f" {_DIRECTIONS[match[3]]}" if match[3] else ""
    return " ".join([" degrees", *words]) + direction


def _to_next(match: re.Match[str], british: bool) -> list[Piece]:
    """The dash of a range whose numbers both have a unit: "5%–6%"."""
    return [Piece(" to ", *match.span(1 if match[1] else 0))]


def _postal_code(match: re.Match[str], british: bool) -> list[Piece]:
    pieces = [
        Piece(".".join(match[1]) if len(match[1]) == 2 else match[1], *match.span(1)),
        Piece(digits(match[2]), *match.span(2)),
    ]
    if match[3]:
        pieces.append(Piece(f", {digits(match[3])}", match.end(2), match.end(3)))
    return pieces


_AUSTRALIAN = {
    **{"NSW": "New South Wales", "VIC": "Victoria", "QLD": "Queensland", "TAS": "Tasmania"},
    **{"WA": "Western Australia", "SA": "South Australia", "ACT": "A.C.T", "NT": "N.T"},
}


def _australian(match: re.Match[str], british: bool) -> str:
    """A state of Australia before a postal code: "Sydney NSW 2000"."""
    return f"{_AUSTRALIAN[match[1]]} {digits(match[2])}"


def _unit_of_house(match: re.Match[str], british: bool) -> list[Piece]:
    """The slash between a unit and the number of its house: "12/14 Smith Street"."""
    return [Piece(", ", *match.span(2))]


def _province(match: re.Match[str], british: bool) -> str:
    """The province before a Canadian postal code."""
    return ".".join(match[0])


def _negative(match: re.Match[str], british: bool) -> str:
    return "minus "


def _fraction(match: re.Match[str], british: bool) -> str:
    whole, above, below = match[1], match[2], match[3]
    if re.fullmatch(r"[\d.,]+", f"{above}{below}") and not (above + below).isdigit():
        joint = "out of" if below in ("5", "10", "100") or "." in below else "over"
        return f"{plain(above, british)} {joint} {plain(below, british)}"
    high, low = int(above), int(below)
    if (high, low) in _NOT_FRACTIONS:
        return f"{cardinal(high)} {cardinal(low)}"
    before = match.string[max(0, match.start() - 60) : match.start()]
    if match[4] and low > 1:
        part = fraction(high, low, behind_whole=bool(whole))
        return f"{plain(whole.strip(' -'), british)} and {part}" if whole else part
    rated = low in (5, 10, 20, 100) and high <= low and whole is None and _RATING.search(before)
    people = low in (5, 10, 20) and high < low and whole is None
    polled = people and _POLLED.match(match.string, match.end())
    if _ODDS.match(match.string, match.end()):
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
        return fraction(high, low)
    if high >= low or low < 2 or not named or (whole is None and high > 31):
        joint = "over" if whole is None else "slash"
        apart = " " * match.string[match.end() : match.end() + 1].isalpha()
        return f"{whole or ''}{cardinal(high, british)} {joint} {cardinal(low, british)}{apart}"
    part = fraction(high, low, behind_whole=bool(whole))
    part += " " * match.string[match.end() : match.end() + 1].isalpha()
    return f"{plain(whole.strip(' -'), british)} and {part}" if whole else part


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
        else:
            second = "oh " * high.startswith("0") + cardinal(int(high))
        return f"{first} to {second}"
    spaced = match.string[match.end(1)].isspace() and not (looks_like_year(low))
    if spaced and float(low.replace(",", "")) > float(high.replace(",", "")):
        return f"{plain(low, british)} minus {plain(high, british)}"
    if low == high:
        return f"{plain(low, british)} {plain(high, british)}"
    return f"{plain(low, british)} to {plain(high, british)}"


def _side_by_side(match: re.Match[str], british: bool) -> str:
    """Two numbers that are no range: "Table 4-1", "a 3-4 defense", "6-2, 215 pounds"."""
    return " ".join(cardinal(int(part)) for part in match.groups() if part)


def _batting_average(match: re.Match[str], british: bool) -> str:
    return in_pairs(match[1] or match[2], british)


def _signed(match: re.Match[str], british: bool) -> str:
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


_PARTS = {
    **dict.fromkeys(("1", "I"), "first"),
    **dict.fromkeys(("2", "two"), "second"),
    **dict.fromkeys(("3", "three"), "third"),
}
_BIBLE = word_sets("bible")
_BOOK_NAMES = {
    **{book: book for book in _BIBLE["book"] | _BIBLE["numbered"]},
    **{short: book for book, words in _BIBLE.items() if book.istitle() for short in words},
}
_BOOKS = "|".join(sorted(_BOOK_NAMES, key=len, reverse=True))
_NUMBERED_BOOKS = "|".join(name for name, book in _BOOK_NAMES.items() if book in _BIBLE["numbered"])
_STATES = "|".join(
    rf"{short}|(?<=, ){name}" for kind, short, name in table("states") if kind != "province"
)
_PROVINCES = "|".join(short for kind, short, _ in table("states") if kind == "province")

_RULES: tuple[Rule, ...] = (
    *CODES,
    *CHORDS,
    *CHESS,
    *NOTATIONS,
    (re.compile(r"\d{31,}"), _digits),
    (re.compile(r"(?<![\w~/])~\s?(?=[$£€¥]?\.?\d)"), _about),
    (re.compile(r"\b0x([0-9A-Fa-f]{1,16})(?!\w)|#(?=\w*\d)([0-9A-Fa-f]{6})(?!\w)"), _hexadecimal),
    *ISOTOPES,
    (
        re.compile(
            r"(?<=\d)\s?°\s?(\d{1,2}(?:\.\d+)?)\s?['′](?:\s?(\d{1,2}(?:\.\d+)?)\s?(?:[\"″”]|''))?"
            r"(?:\s?([NSEW])\b)?"
        ),
        _arc,
    ),
    (re.compile(r"(?<=°)\s?([NSEW])\b"), _direction),
    (
        re.compile(
            r"(?:(?<=\bmph)|(?<=km/h)|(?<=\bknots)|(?<=\bkts)|(?<=\d mi)|(?<=\d mi\.)|(?<=\d miles)"
            r"|(?<=\d km)|(?<=\d blocks))\s([NS]?[EW]|[NS])\b(?!['’])"
        ),
        _direction,
    ),
    (
        re.compile(
            rf"(?:\b(?:{_ROADS})|\b(?:I|US|SR)-\d{{1,3}}|\b(?:Route|Highway|Interstate)\s\d{{1,3}})"
            r"\s(NE|NW|SE|SW|[NSEW])\b(?![.'’]\w)"
        ),
        _direction,
    ),
    (
        re.compile(
            rf"(?<![\w.])(NE|NW|SE|SW|[NSEW])\b\.?(?=\s(?:\d{{1,3}}(?:st|nd|rd|th)"
            rf"|(?:[A-Z][a-z]+\s){{0,2}}[A-Z][a-z]+)\s(?:{_ROADS})\b)"
        ),
        _direction,
    ),
    (
        re.compile(rf"(?<=\d)\s?(?:{UNIT})(-|\s?[–—]\s?)(?=\d[\d.,]*\s?(?:{UNIT})(?![^\W²³]))"),
        _to_next,
    ),
    (
        re.compile(
            rf"(?<![\w.,])(?:{'|'.join(_PARTS)})(?=\s(?:(?:{_NUMBERED_BOOKS})\.?\s\d{{1,3}}(?:\b|:)"
            r"|(?:Chron|Corinth|Thess|Macc)[a-z]+\b))"
        ),
        _part_of_book,
    ),
    (
        re.compile(rf"\b({_BOOKS})\.?\s(\d{{1,3}}):(\d{{1,3}})(?:[-–](\d{{1,3}}))?(?![\w:])"),
        _verse,
    ),
    (re.compile(rf"{START}({NUMBER})\s?deg\.?\s?([FC])\b"), _temperature),
    (re.compile(rf"(?<![\w.,])({NUMBER})[eE]([-−+]?)(\d{{1,3}})(?!\w|\.\d)"), _scientific),
    (
        re.compile(r"(?<![^\s(])([<>≤≥])(?=[$£€]?\.?\d)(?!3\s*$)"),
        _at_least,
    ),
    (re.compile(r"\bK(-)(?=9s?\b(?!\s(?:school|student|education|campus)))"), _apart_at),
    (re.compile(r"\bK([-–])(?=\d{1,2}\b)|(?<=[A-Z]\d)–(?=[A-Z]\d)"), _to_next),
    (
        re.compile(
            r"(?:(?<=\b[Dd]ial )|(?<=\b[Pp]ress ))\*(?=\d|\s|[.,])|(?<=\bor )\*(?=\s(?:to|for)\b)"
        ),
        _star,
    ),
    (re.compile(r"(?:(?<=\b[Dd]ial )|(?<=\b[Pp]ress ))#(?=\s|[.,]|$)"), _pound),
    (re.compile(r"(?<=\d[A-Z])([-–])(?=\d{1,2}[A-Z]\b)"), _to_next),
    (re.compile(r"(?<=\d{3}[-. ]\d{4}),?\s?[xX]\.?\s?(\d{2,6})\b"), _extension),
    (re.compile(r"(?<=\bCVE)-((?:19|20)\d\d)-(\d{4,7})\b"), _weakness),
    (re.compile(r"(?<![\w.,/])(\d{2,3})/(\d)(?![\w/]|[.,]\d)"), _innings),
    (
        re.compile(
            r"(?<![\w.,/-])(\d{2,3})[-–](\d)"
            r"(?=\s(?:at (?:tea|lunch|stumps|the close)|declared|overnight|off)\b)"
        ),
        _innings,
    ),
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
    (
        re.compile(
            r"(?<![\w.])\+(?=(?:\D{0,2}\d){7})\d{1,3}(?:[-. ]?\(?\d{1,8}\)?){2,5}(?![\d-]|\.\d)"
            r"|(?<![\w.])(?:\+?\d{1,3}[-. ])?(?:\(\d{3}\)[-. /]?|\d{3}[-. /])\d{3}[-. ]\d{4}"
            r"(?![\d-]|\.\d)"
            r"|(?<![\w.-])(?:\(0\d{1,4}\)|\(0\)\d{2,4}|0\d{2,4})(?:[ -]\d{3,6}){1,2}(?![\d-]|\.\d)"
            r"|(?<![\w.,-])0\d(?:[ .-]\d\d){4}(?![\w-]|[.,]\d)"
            r"|(?<![\w.,-])0\d \d{4} \d{4}(?![\w-]|[.,]\d)"
            r"|(?<![\w.-])1[38]00[ -]\d{3}[ -]\d{3}(?![\d-]|\.\d)"
            r"|(?<![\w.,-])(?:555 \d{4}|\d{3,4} 0\d{3})(?![\w-]|[.,]\d)"
            r"|(?<![\w.,-])00[ -]\d{1,3}(?:[ -]\d{1,8}){2,5}(?![\w-]|[.,]\d)"
            r"|(?<![\w.-])(?:1-)?(?:8(?:00|33|44|55|66|77|88)|900)-(?:\d{3}-)?[A-Z]{2,9}(?:-[A-Z]{2,9}){0,2}(?![\w-])"
            r"|(?<![\w.-])\d{3}-\d{4}(?![\d-])|(?<=hone )\d{3}\.\d{4}\b|(?<=all )\d{3}\.\d{4}\b"
        ),
        _phone,
    ),
    (
        re.compile(r"(?<![\w.,/-])\d{1,7}(?:[-–]\d{1,7}){2,6}(?![\w-]|[.,]\d)"),
        _chain,
    ),
    (
        re.compile(
            r"(?:\b(?:ISSN|EIN)(?::|\sis)?\s(?=\d)|(?:#|\b(?:number|no\.)(?:\sis)?\s)(?=\d{4,}-\d{4}))"
            r"(\d+-\d+)(?![\w-])"
        ),
        _identifier,
    ),
    (re.compile(rf"\b(?:{_PROVINCES})(?=\s[A-Z]\d[A-Z]\s?\d[A-Z]\d\b)"), _province),
    (re.compile(rf"\b({'|'.join(_AUSTRALIAN)})\s(\d{{4}})(?![\w-]|[.,]\d)"), _australian),
    (
        re.compile(
            r"(?<![\w.,/-])(\d{1,3})(/)(?=\d{1,4}\s(?:[A-Z][a-z]+\s){1,2}"
            r"(?:Street|Road|Avenue|Lane|Drive|Terrace|Crescent)\b)"
        ),
        _unit_of_house,
    ),
    (re.compile(rf"\b({_STATES})\s(\d{{5}})(?:-(\d{{4}}))?(?![\w-]|[.,]\d)"), _postal_code),
    *MONEY,
    (
        re.compile(
            r"(?:\b(?:[Zz]ip|ZIP)(?: [Cc]ode)?|\b[Cc]ode|\bPIN|\bOTP|\b[Pp]ass(?:code|word)|\bSKU"
            r"|\bCV[VC]2?|\b[Tt]ext [\"“”]?\w{1,20}[\"“”]? to|\b[Ss]erial number"
            r"|\b[Aa]ccount(?: number)?"
            r"|\b[Ee]xtension"
            r"|\b(?:VIN|[Cc]ard|[Aa]ccount|[Pp]hone|SSN)(?: number)? (?:ends|ending|ended) in"
            rf"|\b(?i:{_CODED}) (?:number|no\.|ID|reference)"
            r"(?=\W{1,3}(?:(?:is|was)\s)?#?\d{5}))"
            r":?\s(?:(?:is|was)(?:\snow)?:?\s)?#?(\d{3,30})(?![\w,.-]*\d)"
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
    (
        re.compile(r"(?:(?<=\b[Pp]hase )|(?<=\b[Gg]rade )|(?<=\b[Ff]lat ))(\d)/(\d)(?![\w/])"),
        _side_by_side,
    ),
    (re.compile(rf"(?:(?<=/\d)|(?<=/\d\d))({DASH})(?=(?:\d{{1,3}}\s)?\d{{1,2}}/\d)"), _to_next),
    (
        re.compile(
            rf"(?:(?<=\d\s\d/\d)|(?<=[1357]/[2348]))({DASH})(?=\d{{1,3}}\s[a-z])"
            rf"|(?<![/.,]\d)(?<=\d)({DASH})(?=\d{{1,2}}\s\d/\d)"
        ),
        _to_next,
    ),
    (re.compile(rf"(?<=\d(?:st|nd|rd|th))({DASH})(?=\d{{1,3}}(?:st|nd|rd|th)\b)"), _to_next),
    (
        re.compile(
            r"(?<![\w.,/])(\d{1,2})/(2|4|8|16)(?=[- ](?:time|signature|meter|beat|blues|waltz"
            r"|rhythm|groove|feel|march|bar)\b|,? (?:to|and|or|then) \d{1,2}/(?:2|4|8|16)[- ]time)"
            r"|(?<=\b[Ii]n )(\d{1,2})/([48])(?=[.,;)]|\s(?:at|and|with)\b|$)"
        ),
        _time_signature,
    ),
    (re.compile(r"(?<![^\s(=])[-−](?=(?:\d{1,3}\s)?\d{1,3}/\d{1,4}(?![\w/]|[.,]\d))"), _negative),
    (re.compile(r"(?:(?<=\d/\d)|(?<=\d/\d\d))\"-(?=\d)"), _apart),
    (
        re.compile(
            rf"(?<![\w.,/])(\d{{1,3}}(?:\s|-(?=\d/\d)))?(\d{{1,2}})/(\d{{1,4}})[\s-]?({UNIT_AFTER_FRACTION})"
        ),
        _part_of_unit,
    ),
    (
        re.compile(
            r"(?<![\w.,])(\d{1,3}(?:\s|-(?=\d/\d)))?(\d{1,3}|\d{1,3}\.\d{1,3})/(\d{1,4}|(?:4|5|10)\.0)"
            r"(rds?|ths?)?(?![\d/]|[.,]\d|(?!in\b)[A-Za-z]{3}|[A-Z])"
        ),
        _fraction,
    ),
    *SIZES,
    (
        re.compile(
            r"(?<![\w.,$£€/-])()(?<!ome )(?<!bout )(?<!ver )(?<!han )"
            r"([1-9]\d{2,3})(?=\s+(?:(?:[Nn]orth|[Ss]outh|[Ee]ast|[Ww]est)(?:east|west)?\s+)?"
            rf"(?:(?:[A-Z][a-z]+|\d{{1,3}}(?:st|nd|rd|th))\s){{1,2}}(?:{_ROADS})\b"
            r"|\sBroadway\b)"
        ),
        designation,
    ),
    (
        re.compile(
            r"(?<![\w.,-])(\d{1,4})-?([A-Z])(?=\s(?:[A-Z][a-z]+\s){1,2}"
            r"(?:Street|Road|Avenue|Lane|Drive|Boulevard|Square|Place|Court|Way|Close|Terrace)\b)"
        ),
        _house,
    ),
    (
        re.compile(
            rf"(?:\b(?:(?i:{_LETTERED})|{_CAPITALIZED})\s|#\s?)(\d{{1,6}})-?([A-Z])\b(?!\sof\b)"
        ),
        _house,
    ),
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
        _side_by_side,
    ),
    *MODELS,
    MILLIONS,
    *UNITS,
    (re.compile(r"(?<![\w.])(\d{1,3}(?:,\d{3})+|\d+)(?:st|nd|rd|th)(s?)\b"), _ordinal),
    (re.compile(r"(?<!\w)#\s?(\d{5,}(?![\w,.-]*\d)|\d)"), _hash_number),
    *DESIGNATIONS,
    *FORMULAS,
    (re.compile(r"(?<=\b[A-Z]\d)(-)(?=\d{2,3}\b(?![.,]\d))"), _apart),
    (re.compile(r"(?<![\w.])([Aa])-?(?=\d)"), _lettered),
    (re.compile(r"(?<=\d)([Aa])(?![A-Za-z_'’.&])"), _after_number),
    (
        re.compile(
            r"(?:(?<=\bhit )|(?<=\bhits )|(?<=\bhitting )|(?<=\bbatted )|(?<=\bbatting ))"
            r"\.([1-9]\d\d)(?!\d)"
            r"|(?<![\w.])\.([1-9]\d\d)(?=\s(?:OBP|AVG|SLG|OPS|batting|slugging|on-base|hitter|clip"
            r"|(?:career\s|lifetime\s)?average)\b)"
        ),
        _batting_average,
    ),
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
