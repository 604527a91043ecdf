"""Short forms of reports to investors, of wages and of accounts: "1H23", "£12.50 p/h"."""

from __future__ import annotations

import re

from ..tracked import Piece
from .numbers import cardinal
from .rules import Phrase

_HALVES = {"1": "first", "2": "second"}
_PER = {"h": "hour", "hr": "hour", "w": "week", "wk": "week", "m": "month", "y": "year"}
_FIGURES = "Sales|Revenue|EBITDA|EBIT|FCF|S"


def _half(match: re.Match[str]) -> list[Piece]:
    """A half of a year: "1H23", "2H 2022"."""
    year = cardinal(int(match[2])) if len(match[2]) == 2 else match[2]
    return [Piece(f"{_HALVES[match[1]]} half {year}", *match.span())]


def _per(match: re.Match[str]) -> str:
    """What a wage is paid for: "£12.50 p/h", "£12.50p/h"."""
    return f"per {_PER[match[1]]}" if match[1] else f" per {_PER[match[2]]}"


FINANCE: tuple[Phrase, ...] = (
    (re.compile(r"\b([12])H ?(\d\d|20\d\d)\b(?![.,]\d)"), _half),
    (re.compile(r"(?<=\d )p/(hr?|wk?|m|y)\b|(?<=\.\d\d)p/(hr?|wk?)\b"), _per),
    (
        re.compile(r"(?<![£$€\d.,])(\d{1,3})p/(hr?|wk?)\b"),
        lambda m: f"{m[1]} pence per {_PER[m[2]]}",
    ),
    (re.compile(rf"\bEV/(?={_FIGURES}\b)"), "EV to "),
    (
        re.compile(
            r"\b([Rr])ev\.(?=\s(?:[+−-]\d|[+−-]?[$£€]|up\b|down\b|rose\b|fell\b|of\s[$£€]))"
        ),
        r"\1evenue",
    ),
    (re.compile(r"\b[Aa]/[Cc](?= (?:no\.?|number|#|holder|name)(?!\w))"), "account"),
)
"""Phrases, each with what it is replaced by, before abbreviations are expanded."""
