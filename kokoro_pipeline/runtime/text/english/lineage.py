"""Births, deaths and kin as family trees have them: "dau. of Wm. & Eliz.", "d. Jan. 3"."""

from __future__ import annotations

import re

from ..tracked import Piece
from .dates import MONTHS
from .rules import Phrase
from .tables import table

_MONTH = "|".join(
    sorted(
        {*MONTHS, *(short for kind, short, _ in table("abbreviations") if kind == "month")},
        key=len,
        reverse=True,
    )
)
_DAY = (
    rf"(?:(?:{_MONTH})\b\.?(?:\s\d|,)|\d{{1,2}}(?:st|nd|rd|th)?\s(?:{_MONTH})\b"
    r"|\d{1,2}/\d{1,2}/\d)"
)
_EVENTS = {
    **{"b": "born", "d": "died", "m": "married", "bur": "buried", "bapt": "baptized"},
    **{"bap": "baptized", "chr": "christened", "div": "divorced", "unm": "unmarried"},
}
_KIN = {
    **{"dau": "daughter", "dtr": "daughter", "gdau": "granddaughter", "gson": "grandson"},
    **{"bro": "brother", "sis": "sister", "wid": "widow", "neph": "nephew"},
}
_NAMES = {
    **{"Wm": "William", "Eliz": "Elizabeth", "Chas": "Charles", "Thos": "Thomas", "Geo": "George"},
    **{"Jas": "James", "Jos": "Joseph", "Robt": "Robert", "Benj": "Benjamin", "Edw": "Edward"},
    **{"Saml": "Samuel", "Danl": "Daniel", "Alex": "Alexander", "Fredk": "Frederick"},
    **{"Richd": "Richard", "Cath": "Catherine", "Margt": "Margaret", "Jno": "John", "Hy": "Henry"},
    **{"Nathl": "Nathaniel", "Archd": "Archibald", "Matt": "Matthew", "Ebenr": "Ebenezer"},
}
_CERTAIN = "|".join(name for name in _NAMES if name not in ("Alex", "Matt", "Hy", "Cath"))


def _event(match: re.Match[str]) -> list[Piece]:
    return [Piece(_EVENTS[match[1]], *match.span())]


def _kin(match: re.Match[str]) -> list[Piece]:
    return [Piece(_KIN[match[1].lower()], *match.span())]


def _name(match: re.Match[str]) -> list[Piece]:
    return [Piece(_NAMES[match[1]], *match.span())]


LINEAGE: tuple[Phrase, ...] = (
    (
        re.compile(
            rf"(?<![^\s(,;])({'|'.join(_EVENTS)})\.(?=\s(?:(?:in|at|on|c\.|ca\.|abt\.)\s)?{_DAY})"
        ),
        _event,
    ),
    (re.compile(r"(?<=[\s(,;])b\.(?=\s[A-Z][a-z]+,?\s(?:1[5-9]|20)\d\d\b)"), "born"),
    (re.compile(rf"\b({'|'.join(_KIN)}|Dau)\.(?=\s(?:of|to|and)\b)"), _kin),
    (re.compile(rf"\b({_CERTAIN})\.(?=\s(?:&|and|or|of|was|had|m\.|b\.|d\.)(?!\w))"), _name),
    (re.compile(rf"(?:(?<=\band )|(?<=& ))({'|'.join(_NAMES)})\.(?=\s[A-Z])"), _name),
)
"""Phrases, each with what it is replaced by, before abbreviations are expanded."""
