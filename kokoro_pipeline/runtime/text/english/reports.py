"""Short forms of charts, listings and screens: "14/vii/1916", "3/12 files", "$129 o/w"."""

from __future__ import annotations

import re

from ..tracked import Piece
from .dates import MONTHS
from .numbers import cardinal, digits, in_pairs, plural
from .rules import Phrase

_ROMAN_MONTHS = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
_BOUND = {"N": "northbound", "S": "southbound", "E": "eastbound", "W": "westbound"}
_LENGTHS = {"mi": "mile", "km": "kilometer"}
_COUNTED = (
    "files|items|steps|pages|tests|tasks|photos|images|songs|packages|chunks|passed|completed?|done|cores"
    "|episodes|chapters|levels|lessons|questions|messages|parts|seats|slots|votes|samples|epochs|batches"
)


def _roman_month(match: re.Match[str]) -> str:
    """A date whose month is a Roman numeral: "14/vii/1916"."""
    return f"{match[1]} {MONTHS[_ROMAN_MONTHS.index(match[2].lower())]} {match[3]}"


def _mode(match: re.Match[str]) -> list[Piece]:
    """The mode of a key: "in D min."."""
    end = match.end()
    return [Piece("minor" if match[1] == "min" else "major", match.start(1), end)]


def _grouped(match: re.Match[str]) -> str:
    """A number in groups: "#100-2345678"."""
    return "number " + ", ".join(map(digits, match[1].split("-")))


REPORTS: tuple[Phrase, ...] = (
    (
        re.compile(
            r"(?<![\w./])([0-3]?\d)[/.]((?i:i{1,3}|iv|vi{0,3}|ix|xi{0,2}))[/.]"
            r"(1[5-9]\d\d|20\d\d)\b"
        ),
        _roman_month,
    ),
    (
        re.compile(r"(?<=[A-Z]{2}, )([2-9]0)s\b"),
        lambda m: plural(cardinal(int(m[1]))),
    ),
    (re.compile(r"(?<=\d)/b(?:bl)?\b(?!/)"), " per barrel"),
    (
        re.compile(r"(?<=\d)([mk])\s(?:shs|shares)\b"),
        lambda m: f" {'million' if m[1] == 'm' else 'thousand'} shares",
    ),
    (re.compile(r"(?<=\d\.\d)p\b(?=[.,;)]|$|\s(?:per|a)\b)"), " pence"),
    (re.compile(r"(?<=\d:\d\d)/(mi|km)\b"), lambda m: f" per {_LENGTHS[m[1]]}"),
    (re.compile(r"\b([Ee])lev\.(?=\sgain\b)"), r"\1levation"),
    (re.compile(r"(?<=\d)/(?=(?:US|UK|EU)\s\d)"), ", "),
    (re.compile(r"(?<=\d)/(?=24\s?h(?:rs?|ours?)?\b)"), " per "),
    (re.compile(r"\b(\d{1,3}) B\.R\.(?=\s\d)"), lambda m: f"{cardinal(int(m[1]))} B.R."),
    (
        re.compile(r"(?<=§ )(\d{1,2})-(\d{3})(?![\w-])"),
        lambda m: f"{cardinal(int(m[1]))}, {in_pairs(m[2])}",
    ),
    (
        re.compile(
            r"(?<![\w-])\d{2,3}(-)\d\d(?=\s(?:[A-Z][a-z]+|\d{1,3}(?:st|nd|rd|th))\s"
            r"(?:Blvd|St|Ave|Rd|Pl|Dr|Street|Avenue|Road|Boulevard|Place|Drive)\b)"
        ),
        lambda m: [Piece(" ", *m.span(1))],
    ),
    (re.compile(r"\bcol(s?)\.(?=\s?\d)"), r"column\1"),
    (re.compile(r"(?<=[,;(] )l\.(?=\s?\d)"), "line"),
    (re.compile(r"(?<=\d)-(?=(?:late|midnight|close)\b)"), " to "),
    (re.compile(r"(?<![\w#])#(?=(?:\d-?){6})(\d+(?:-\d+)+)(?![\w-])"), _grouped),
    (re.compile(r"(?<=\bof \d)\s[—–-]\s(?=\d)|(?<=\bof \d\d)\s[—–-]\s(?=\d)"), ", "),
    (
        re.compile(rf"(?<![\w./-])(\d{{1,4}})/([5-9]|\d{{2,4}})(?=\s(?:{_COUNTED})\b)"),
        r"\1 of \2",
    ),
    (re.compile(r"(?<=\d)/(?=\d{1,4}(?:\.\d)?\s?(?:[KMGT]i?B)\b)"), " of "),
    (re.compile(r"(?<=\bGCS )(\d{1,2})/(?=15\b)"), r"\1 out of "),
    (re.compile(r"★\s?(?=\d)"), ""),
    (re.compile(r"\bOp\.?\s(\d{1,3})/(?=\d{1,2}(?![\w/]))"), r"Op. \1, No. "),
    (re.compile(r"\bOp\. posth\b\.?"), "opus posthumous"),
    (re.compile(r"\bposth\b\.?(?=\s?\d|[,;)]|\s[a-z])"), "posthumous"),
    (re.compile(r"(?:\bin|\bkey of) [A-G](?:[♭♯]|[- ](?:flat|sharp))? (min|maj)\b\.?"), _mode),
    (re.compile(r"(?<=\b1 )c\.(?=\s\(\d)"), "cup"),
    (re.compile(r"(?<=\d )c\.(?=\s\(\d)"), "cups"),
    (re.compile(r"(?<=[A-Z]{2} )neg\b\.(?=[;,)]|$)"), "negative"),
    (re.compile(r"(?<=\d )o/w\b"), "one way"),
    (re.compile(r"(?<=\d )([NSEW])/B\b"), lambda m: _BOUND[m[1]]),
    (re.compile(r"(?<=\d[A-Z])–(?=[A-Z]\b(?!\.\w))"), " to "),
    (re.compile(r"\bapt\.(?=,|\s(?:in|on|with|for|near|w/)(?!\w))"), "apartment"),
    (re.compile(r"\bper cap\.(?=\s[\d$£€])"), "per capita"),
    (re.compile(r"\b([Pp])recip\.(?=:?\s[\d~])"), r"\1recipitation"),
    (re.compile(r"\b([Yy])rs\.?(?=\s(?:truly|sincerely|faithfully|ever|etc)\b)"), r"\1ours"),
)
"""Phrases, each with what it is replaced by, before abbreviations are expanded."""
