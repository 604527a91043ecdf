"""Counters of parts, and spans of time by letters: "step 2/5", "3d left", "1m 23.4s"."""

from __future__ import annotations

import re

from ..tracked import Piece, Replacement
from .rules import Phrase

_COUNTED = (
    "attempt|batch|chapter|chunk|day|disc|ep|episode|epoch|exercise|file|frame|image|installment"
    "|issue|iteration|lap|leg|lesson|level|message|module|page|part|photo|post|question|retry|round"
    "|screen|session|sheet|slide|stage|step|stop|task|thread|tip|tweet|video|vol|volume|week"
)
_NO_COUNT = (
    r"(?![\w/]|[.,]\d|\"|\s(?:cups?|inch(?:es)?|miles?|tsp|tbsp|oz|of|price|full|off|done)\b)"
)
_SPANS = {"d": "day", "w": "week", "y": "year", "h": "hour", "mo": "month", "m": "min", "s": "sec"}
_LATER = "ago|left|later|remaining|overdue|late|earlier|to go"
_ENDS = r"(?:ends|ending|expires|expiring|due|starts|starting|renews|closes|opens|resets|begins)"


def _of(match: re.Match[str]) -> Replacement:
    """The place of a part among all: "Part 1/3", "Retrying (3/5)"."""
    if int(match[1]) > int(match[3]):
        return match[0]
    return [Piece(" of ", *match.span(2))]


def _span(match: re.Match[str]) -> list[Piece]:
    """A span of time by a letter: "2d ago", "ends in 7d"."""
    many = match[1] != "1" and match[2] not in "ms"
    return [Piece(f" {_SPANS[match[2]]}{'s' * many}", *match.span(2))]


def _lap(match: re.Match[str]) -> list[Piece]:
    """Hours, minutes and seconds: "1m 23.4s", "1h2m3s"."""
    names = {2: " hr ", 4: " min ", 6: " sec"}
    return [Piece(name, *match.span(group)) for group, name in names.items() if match[group]]


def _left(match: re.Match[str]) -> list[Piece]:
    """What a clock shows that runs down: "with 2:00 left"."""
    minutes, seconds = int(match[3] or 0), int(match[2] or 0)
    words = [f"{minutes} minute{'s' * (minutes != 1)}"] if minutes else []
    words += [f"{seconds} second{'s' * (seconds != 1)}"] if seconds else []
    return [Piece(" ".join(words), *match.span())]


COUNTERS: tuple[Phrase, ...] = (
    (
        re.compile(
            rf"\b(?:(?i:{_COUNTED})s?|(?i:[a-z]{{2,20}}ing)(?= \(\d)):? "
            rf"\(?(\d{{1,4}})(\s?/\s?)(?!20\d\d)(\d{{1,4}}){_NO_COUNT}"
        ),
        _of,
    ),
    (
        re.compile(
            r"(?<![\w.,:$-])(?:(\d{1,3})(h\s?))?(\d{1,3})(m\s?)(\d{1,2}(?:\.\d{1,3})?)(s)\b(?!['’-])"
        ),
        _lap,
    ),
    (
        re.compile(
            r"(?<![\w.,:])(?:(?=0?0:)(\d{1,2}):([0-5]\d)|(\d{1,2}):00)"
            r"(?=\s(?:left|remaining|to go|to play|on the clock)\b)"
        ),
        _left,
    ),
    (
        re.compile(rf"(?<![\w.,:$£€/-])(\d{{1,4}})(mo|[dwymhs])(?=\s(?:{_LATER})\b)"),
        _span,
    ),
    (
        re.compile(
            rf"\b{_ENDS} in (\d{{1,3}})(mo|[dwymhs])\b(?!['’-])"
            r"|(?<=\b[Uu]p )(\d{1,4})(d)(?=[,.;)]|\s\d{1,2}h\b|$)"
        ),
        lambda m: _span(m) if m[1] else [Piece(" days", *m.span(4))],
    ),
    (
        re.compile(r"(?<![\w.,:$£€/-])(\d{1,4})(d)(?=\s?\d{1,2}\s?h(?:\s?\d|\b))"),
        lambda m: [Piece(" day " if m[1] == "1" else " days ", *m.span(2))],
    ),
)
"""Phrases, each with what it is replaced by."""
