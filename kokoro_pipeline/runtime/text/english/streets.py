"""Directions, streets, houses and postal codes."""

from __future__ import annotations

import re

from ..tracked import Piece
from .designations import designation
from .letters import letter_piece
from .number_forms import digit_by_digit, is_one, letter_by_letter, plain
from .numbers import digits, in_pairs
from .rules import Rule
from .tables import table, word_sets
from .weather import COMPASS


def _house(match: re.Match[str], british: bool) -> list[Piece]:
    """A number with a letter: "221B Baker Street", "invoice #10432-B"."""
    spoken = in_pairs(match[1], british) if len(match[1]) < 5 else digits(match[1])
    sign = "number " if match[0].startswith("#") else ""
    start = match.start() if sign else match.start(1)
    return [Piece(f"{sign}{spoken} ", start, match.start(2)), letter_piece(match, 2)]


_LETTERED = "|".join(sorted(word_sets("coded")["lettered"]))
_CAPITALIZED = "|".join(sorted(word_sets("coded")["capitalized"]))

_ROADS = (
    "Street|Avenue|Road|Boulevard|Drive|Lane|Highway|Parkway|Court|Place|Terrace|Way|Square"
    "|Expressway|Freeway|Turnpike|Circle|Trail|Plaza|Pike|Loop|Crossing"
)


def _direction(match: re.Match[str], british: bool) -> list[Piece]:
    """A point of the compass: "10°N", "Fifth Avenue NW", "I-80 W"."""
    return [
        Piece(f" {''.join(COMPASS[letter] for letter in match[1])} ", match.start(1), match.end())
    ]


def _arc(match: re.Match[str], british: bool) -> str:
    """Minutes and seconds of an angle: "41°43'12\"N"."""
    parts = [("minute", match[1]), ("second", match[2])]
    words = [
        f"{plain(part, british)} {name if is_one(part) else name + 's'}"
        for name, part in parts
        if part
    ]
    direction = f" {COMPASS[match[3]]}" if match[3] else ""
    return " ".join([" degrees", *words]) + direction


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


_STATES = "|".join(
    rf"{short}|(?<=, ){name}" for kind, short, name in table("states") if kind != "province"
)
_PROVINCES = "|".join(short for kind, short, _ in table("states") if kind == "province")

# Words behind which a single letter is a name or a symbol, and what lies in a landscape.
_NAMED_BY_LETTERS = (
    "the|an?|and|or|for|with|letters?|vitamins?|class|grades?|groups?|type|hepatitis|plan|values?|numbers?"
    "|sets?|sizes?|options?|events?|sections?|parts?|points?|teams?|capital|each|every|total|sum|matrix"
    "|subsets?|samples?|state|system|factor|level|series|appendix|annex|article|chapter|volume|exit|gate"
)
_LANDMARKS = (
    "village|town|city|river|road|lake|island|border|equator|bridge|station|airport|church|castle|park|bay"
    "|harbou?r|coast|mountains?|hills?|valley|highway|motorway|railway|canal|creek|summit|pass|junction"
    "|crossroads|campus|farm|forest|cent(?:er|re)|tracks?|main|site|house|peninsula|line|dam|fort|port"
)

DIRECTIONS: tuple[Rule, ...] = (
    (
        re.compile(
            r"(?<=\d)\s?°\s?(\d{1,2}(?:\.\d+)?)\s?['′](?:\s?(\d{1,2}(?:\.\d+)?)\s?(?:[\"″”]|''))?"
            r"(?:\s?([NSEW])\b(?:\.(?=[,;:)]|\s[a-z]))?)?"
        ),
        _arc,
    ),
    (re.compile(r"(?<=°)\s?([NSEW])\b"), _direction),
    (
        re.compile(
            r"(?:(?<=\bmph)|(?<=km/h)|(?<=\bknots)|(?<=\bkts)|(?<=\d mi)|(?<=\d mi\.)|(?<=\d miles)"
            r"|(?<=\dmi)|(?<=\d km)|(?<=\dkm)|(?<=\d m)|(?<=\dm)|(?<=\d blocks))"
            r"\s([NS]?[EW]|[NS])\b(?!['’])"
        ),
        _direction,
    ),
    (
        # Behind a word in small letters, but for those whose letter is a name: "grade E of".
        re.compile(
            r"(?:^|(?<=[.;,(] )|\b(?:to the|Just|Located|Due) "
            rf"|\b(?!(?:{_NAMED_BY_LETTERS})\b)[a-z]{{2,20}} )"
            rf"([NS]?[EW]|[NS])(?=\sof\s(?:the\s(?:{_LANDMARKS})\b|(?:the\s)?[A-Z][a-z]{{2}}))"
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
)

PLACES: tuple[Rule, ...] = (
    (re.compile(rf"\b(?:{_PROVINCES})(?=\s[A-Z]\d[A-Z]\s?\d[A-Z]\d\b)"), letter_by_letter),
    (re.compile(rf"\b({'|'.join(_AUSTRALIAN)})\s(\d{{4}})(?![\w-]|[.,]\d)"), _australian),
    (
        re.compile(
            r"(?<![\w.,/-])(\d{1,3})(/)(?=\d{1,4}\s(?:[A-Z][a-z]+\s){1,2}"
            r"(?:Street|Road|Avenue|Lane|Drive|Terrace|Crescent)\b)"
        ),
        _unit_of_house,
    ),
    (
        re.compile(
            r"(?:\b(?:rue|avenue|quai|place|[Vv]ia|[Pp]iazza|[Cc]alle|[Pp]laza)\s[^,;.\d]{2,40}"
            r"|\b[A-Z][^\W\d_]{3,30}\.? \d{1,3}[a-z]?),"
            r" (\d{5})(?=\s[A-Z][a-z])"
        ),
        digit_by_digit,
    ),
    (re.compile(rf"\b({_STATES})\s(\d{{5}})(?:-(\d{{4}}))?(?![\w-]|[.,]\d)"), _postal_code),
)


def _two_numbers(match: re.Match[str], british: bool) -> str:
    """The street that is crossed and the house behind it, as in Queens: "45-12 34th Avenue"."""
    return f"{in_pairs(match[1], british)} {in_pairs(match[2].lstrip('0'), british)}"


HOUSES: tuple[Rule, ...] = (
    (
        re.compile(
            r"(?<![\w.,$£€/-])([1-9]\d{1,2})-(\d\d)(?<!-00)"
            rf"(?=\s\d{{1,3}}(?:st|nd|rd|th)\s(?:{_ROADS})\b)"
        ),
        _two_numbers,
    ),
    (
        re.compile(
            r"(?<![\w.,$£€/-])()(?<!ome )(?<!bout )(?<!ver )(?<!han )"
            r"([1-9]\d{2,3})(?=\s+(?:(?:[Nn]orth|[Ss]outh|[Ee]ast|[Ww]est)(?:east|west)?\s+)?"
            rf"(?:(?:[A-Z][a-z]+|\d{{1,3}}(?:st|nd|rd|th))\s){{1,5}}(?:{_ROADS})\b"
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
)
