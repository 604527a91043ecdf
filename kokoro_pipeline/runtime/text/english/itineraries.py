"""Roads and railways: "head N on Oak St.", "dep. York 09.15 BST", "the 07.52 from Crewe"."""

from __future__ import annotations

import re

from ..tracked import Piece
from .rules import Phrase
from .weather import COMPASS, CORNERS

_DIRECTIONS = {**COMPASS, **CORNERS}
_MOVES = (
    "head(?:ed|ing|s)?|go(?:es|ing)?|went|dr[io]ve|driving|continue[ds]?|continuing|travel(?:s|ed|led)?"
    "|walk(?:s|ed)?|proceed(?:s|ed)?|turn(?:s|ed)?|sail(?:s|ed)?|fl(?:y|ew)|bear|rode|ride|hike|move[sd]?"
    "|blocks?|miles?|mi\\.?|km|due"
)
_ONWARDS = (
    "on|onto|along|to|toward|towards|from|for|until|at|past|through|of|into|via|then|and|out|down"
    "|up|over|across"
)
_ZONES = "GMT|UTC|BST|CET|CEST|IST|AEST|AEDT|SAST|WAT|EAT"
_CALLS = {"dep": "departs", "arr": "arrives"}


def _direction(match: re.Match[str]) -> list[Piece]:
    """A point of the compass behind a verb of motion or a distance: "head N on Oak St."."""
    end = match.end() if match.string.startswith(".", match.end() - 1) else match.end(1)
    return [Piece(_DIRECTIONS[match[1]], match.start(1), end)]


def _clock(match: re.Match[str]) -> list[Piece]:
    """The points of a time of day, which become colons."""
    return [
        Piece(":", *match.span(group)) for group in range(1, match.re.groups + 1) if match[group]
    ]


def _call(match: re.Match[str]) -> list[Piece]:
    word = _CALLS[match[1].lower()]
    return [Piece(word.capitalize() if match[1][0].isupper() else word, *match.span())]


ITINERARIES: tuple[Phrase, ...] = (
    (
        re.compile(
            rf"\b(?i:{_MOVES})\s([NSEW]|[NS][EW])\b\.?(?=\s(?:{_ONWARDS})\b|[,;)]|\son\b)(?!\sand\s[A-Z]\b)"
        ),
        _direction,
    ),
    (
        re.compile(
            rf"(?<![\w.,:/-])(?:[01]?\d|2[0-3])(\.)[0-5]\d(?=\s?(?:hrs\b|h\b(?!\.)|(?:{_ZONES})\b))"
        ),
        _clock,
    ),
    (re.compile(r"(?<![\w.,:/-])[01]?\d(\.)[0-5]\d(\.)[0-5]\d(?=\s?[AaPp]\.?[Mm]\b)"), _clock),
    (
        re.compile(
            r"(?<![\w.,:/$£€-])0\d(\.)[0-5]\d"
            r"(?=\s(?:[A-Z][a-z]{2}|from\b|to\b|train\b|service\b|bus\b|departure\b|sailing\b|ferry\b"
            r"|flight\b))"
            r"|(?:\b[Aa]t|\b(?!Version|Release|Section|Part|Item|Model|Rule|Chapter|Clause|Table|Ver|Vol"
            r"|Build|Page)(?:[A-Z][a-z]+|[HL]W),?) 0\d(\.)[0-5]\d(?=[,;)]|\.?$|\.\s|\s\()"
        ),
        _clock,
    ),
    (
        re.compile(
            r"(?<=\b[Tt]he )(?:1?\d|2[0-3])(\.)[0-5]\d"
            r"(?=\s(?:(?:from|to)\s[A-Z]|train|bus|service|express|sailing|ferry|flight|never\s"
            r"|left|departs?|departed|arrives?|arrived|(?:was|is)\s(?:late|early|delayed|cancel+ed|due)))"
        ),
        _clock,
    ),
    (
        re.compile(
            r"\b([Dd]ep|[Aa]rr)\b\.?(?=\s(?:(?:[A-Z]{3}|[A-Z][a-z]+(?: [A-Z][a-z]+)?),?\s)?"
            r"(?:at )?\d{1,2}(?:[:.]\d\d|\s?[ap]\.?m))"
        ),
        _call,
    ),
    (re.compile(r"(?<=[a-z]{2} )J(?:n|unc)\b\.?(?=[,;)\s]|$)"), "Junction"),
    (re.compile(r"(?<=[a-z\d,;] )nr\b\.?(?=\s(?:the\b|a\b|my\b|our\b|\d|[A-Z][a-z]))"), "near"),
)
"""Phrases, each with what it is replaced by, before abbreviations are expanded."""
