"""Names of streets without the point of their abbreviation, and points of the compass in them."""

from __future__ import annotations

import re

from ..tracked import Piece
from .rules import Phrase, kept_point

_ROADS = {
    **{"St": "Street", "Dr": "Drive", "Ln": "Lane", "Ct": "Court", "Pl": "Place", "Sq": "Square"},
    **{"Ter": "Terrace", "Cir": "Circle", "Ave": "Avenue", "Blvd": "Boulevard"},
}
_WINDS = {"N": "North", "S": "South", "E": "East", "W": "West"}
# Words that are capitalized before a title or a saint's name.
_NO_NAMES = (
    "A|Also|And|As|Ask|At|But|By|Call|Dear|For|From|Hello|Hi|If|In|My|On|Or|Our|See|So|Thanks|That"
    "|The|This|To|When|With|Your|Mount|Mt|Sir|Saint"
)
_POWERED = (
    "Solar|Light|Bulb|Lamp|Panel|Charger|Charging|Speaker|Power|Motor|Adapter|Amp|Amplifier|Class"
    "|Total|Max|Maximum|Peak|Laser|Fast|Wireless|Halogen|Output|Input|Equivalent|Heater|Load"
    "|Korean?s?|Dakota|Carolina"
)


def _road(match: re.Match[str]) -> list[Piece]:
    """A road by its abbreviation: "Main St closes", "Sunset Dr in Malibu"."""
    return [Piece(_ROADS[match[1]], *match.span(1))]


def _of_heir(match: re.Match[str]) -> list[Piece]:
    """A road that is named after a son: "Martin Luther King Jr. Dr."."""
    point = kept_point(match)
    return [
        Piece("Junior", *match.span(1)),
        Piece(_ROADS[match[2]] + point, match.start(2), match.end()),
    ]


def _wind(match: re.Match[str]) -> list[Piece]:
    """The side of a town that a road lies on: "123 W. 3rd", "30 N LaSalle"."""
    return [Piece(_WINDS[match[1]], match.start(1), match.end())]


ROADS: tuple[Phrase, ...] = (
    (
        re.compile(
            rf"(?:\b(?!(?:{_NO_NAMES}) )[A-Z][a-z]{{1,20}}|\d(?:st|nd|rd|th)) "
            r"(St|Dr|Ln|Ct|Pl|Sq|Ter|Cir)"
            r"(?=$|[,;:)!?]|\.$| (?!and (?:Dr|St)\b)[a-z(]| (?:[NSEW]|NE|NW|SE|SW)\b(?!['’.]\w))"
        ),
        _road,
    ),
    (
        re.compile(r"\b(Jr\b\.?) (St|Dr|Ave|Blvd|Pl|Ct)\b\.?(?=\s[a-z(]|[,;:)]|\s?$|\s[A-Z])"),
        _of_heir,
    ),
    (
        re.compile(
            r"(?<![\w.,$£€/-])[1-9]\d{0,4} ([NSEW])\b\.?"
            rf"(?= (?!(?:{_POWERED})\b)(?:[A-Z][a-z]+|\d{{1,3}}(?:st|nd|rd|th)\b))"
        ),
        _wind,
    ),
)
"""Phrases of addresses, each with what it is replaced by."""
