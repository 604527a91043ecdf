"""Winds and pressures of forecasts: "winds NNW 15 mph", "SE winds", "897 mb, moving ENE"."""

from __future__ import annotations

import re

from .rules import Phrase, kept_point

COMPASS = {"N": "north", "S": "south", "E": "east", "W": "west"}
CORNERS = {"NE": "northeast", "NW": "northwest", "SE": "southeast", "SW": "southwest"}
_POINTS = "(?:NNE|NNW|SSE|SSW|ENE|ESE|WNW|WSW)"
_WIND = r"(?:(?<=\b[Ww]inds )|(?<=\b[Ww]ind )|(?<=\b[Ww]inds: )|(?<=\b[Ww]ind: ))"
_MOVED = r"(?:mov(?:es|ed|ing)|track(?:s|ed|ing)|head(?:s|ed|ing)|blow(?:s|ing)|drift(?:s|ed|ing))"


def _compass(match: re.Match[str]) -> str:
    """A point between two of the eight: "NNW"."""
    first, *rest = (COMPASS[letter] for letter in match[0])
    return f"{first}-{''.join(rest)}"


def _pointed_compass(match: re.Match[str]) -> str:
    """A point between two of the eight with points: "N.N.E."."""
    letters = match[0].replace(".", "")
    if letters[1:] not in CORNERS or letters[0] not in letters[1:]:
        return match[0]
    return f"{COMPASS[letters[0]]}-{CORNERS[letters[1:]]}{kept_point(match)}"


def _corner(match: re.Match[str]) -> str:
    return CORNERS[match[1]]


WEATHER: tuple[Phrase, ...] = (
    (re.compile(r"(?<![\w.])(?:N\.N|S\.S|E\.[NS]|W\.[NS])\.[NESW]\.(?![A-Z])"), _pointed_compass),
    (
        re.compile(
            rf"(?:{_WIND}|(?<=from the )|(?<=miles )|(?<=km ))"
            rf"{_POINTS}(?![\w'’.-])|(?<![\w.-]){_POINTS}"
            r"(?=\s(?:(?:at\s|@\s?)?\d{1,3}(?:-\d+)?\s(?:mph|kts?|km/h|knots)\b|winds?\b))"
        ),
        _compass,
    ),
    (re.compile(rf"(?:(?<=\bmoving )|(?<=\btracking )|(?<=\bheading )){_POINTS}\b"), _compass),
    (
        re.compile(
            r"(?<![\w.-])(NE|NW|SE|SW)(?=\s(?:corner|side|end|quadrant|quarter|coast|England|Asia"
            r"|London|winds?(?!\sup)|breezes?|gales?|swells?)\b)"
        ),
        _corner,
    ),
    (
        re.compile(
            rf"(?:{_WIND}|(?<=\bmoving )|(?<=\btracking )|(?<=\bheading ))"
            r"(NE|NW|SE|SW)(?=[\s,.;@])"
        ),
        _corner,
    ),
    (re.compile(rf"{_WIND}[NSEW](?=\s(?:at\s|@\s?)?\d)"), lambda m: COMPASS[m[0]]),
    (
        re.compile(
            r"(?:(?<=\b[89]\d\d)|(?<=\b10\d\d))\s?mb\b(?!/|\s(?:of|files?|plan|data|download|disk|drive|limit|usage|memory)\b)"
        ),
        " millibars",
    ),
    (re.compile(r"(?<=\b[Vv]is )(\d{1,2})\s?NM\b"), r"\1 nmi"),
    (
        re.compile(r"(?<=\d[- ])mag\b\.?(?=\s(?:quake|earthquake|star|tremor|aftershock)s?\b)"),
        "magnitude",
    ),
    (re.compile(r"\bCat(?=\s[1-5]\s(?:hurricane|storm|typhoon|cyclone)s?\b)"), "Category"),
)
"""Phrases, each with what it is replaced by, before abbreviations are expanded."""
