"""Reports of the weather at an airport: "METAR KJFK 121651Z 18012G20KT 10SM FEW040 22/12 A3001"."""

from __future__ import annotations

import re
from collections.abc import Callable

from .letters import LETTER_A
from .numbers import cardinal, digits
from .rules import Phrase

_CLOUDS = {
    "FEW": "few clouds",
    "SCT": "scattered clouds",
    "BKN": "broken clouds",
    "OVC": "overcast",
}
_TOWERING = {"CB": " cumulonimbus", "TCU": " towering cumulus", "": ""}
_INTENSITY = {"-": "light ", "+": "heavy ", "VC": "nearby ", "": ""}
_DESCRIBED = {"SH": "showers of ", "TS": "thunderstorm with ", "FZ": "freezing ", "": ""}
_WEATHER = {
    "RA": "rain",
    "SN": "snow",
    "DZ": "drizzle",
    "BR": "mist",
    "FG": "fog",
    "HZ": "haze",
    "GR": "hail",
    "FU": "smoke",
}
_WORDS = {
    "AUTO": "automatic",
    "CAVOK": "ceiling and visibility okay",
    "SKC": "sky clear",
    "CLR": "sky clear",
    "NSC": "no significant clouds",
    "NOSIG": "no significant change",
    "TS": "thunderstorm",
    "-TS": "light thunderstorm",
    "+TS": "heavy thunderstorm",
    "00000KT": "wind calm",
    "9999": "visibility ten kilometers or more",
    "RMK": "remarks",
}
_REPORT = re.compile(
    r"\b((?:METAR|SPECI) )?([A-Z]{4}) (\d\d)(\d{4})Z"
    r"((?: (?:AUTO|COR|(?:\d{3}|VRB)\d\d(?:G\d\d)?KT|\d{3}V\d{3}|M?\d\d/M?\d\d|[AQ]\d{4}|\d{4}"
    r"|(?:\d )?\d{1,2}(?:/\d)?SM|(?:FEW|SCT|BKN|OVC)\d{3}(?:CB|TCU)?|CAVOK|SKC|CLR|NSC|NOSIG|RMK"
    r"|(?:[-+]|VC)?TS|(?:[-+]|VC)?(?:SH|TS|FZ)?(?:RA|SN|DZ|BR|FG|HZ|GR|FU)))+)(?![\w/])"
)
_GROUP = re.compile(r" ((?:\d )?\d{1,2}(?:/\d)?SM|\S+)")


def _temperature(text: str) -> str:
    return f"{'minus ' * text.startswith('M')}{cardinal(int(text.removeprefix('M')))}"


def _height(hundreds: str) -> str:
    return cardinal(int(hundreds) * 100)


_GROUPS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (
        re.compile(r"(\d{3}|VRB)(\d\d)(?:G(\d\d))?KT"),
        lambda m: (
            f"wind {'variable' if m[1] == 'VRB' else digits(m[1])} at {cardinal(int(m[2]))}"
            + (f" gusting {cardinal(int(m[3]))}" if m[3] else "")
            + " knots"
        ),
    ),
    (
        re.compile(r"(\d{3})V(\d{3})"),
        lambda m: f"variable between {digits(m[1])} and {digits(m[2])}",
    ),
    (
        re.compile(r"(M?\d\d)/(M?\d\d)"),
        lambda m: f"temperature {_temperature(m[1])}, dew point {_temperature(m[2])}",
    ),
    (
        re.compile(r"((?:\d )?\d{1,2}(?:/\d)?)SM"),
        lambda m: f"visibility {m[1]} mile{'s' * (m[1] != '1')}",
    ),
    (re.compile(r"A(\d{4})"), lambda m: f"altimeter {digits(m[1])}"),
    (re.compile(r"Q(\d{4})"), lambda m: f"Q.N.H {digits(m[1])}"),
    (re.compile(r"(\d{4})"), lambda m: f"visibility {cardinal(int(m[1]))} meters"),
    (
        re.compile(r"(FEW|SCT|BKN|OVC)(\d{3})(CB|TCU|)"),
        lambda m: f"{_CLOUDS[m[1]]}{_TOWERING[m[3]]} at {_height(m[2])} feet",
    ),
    (
        re.compile(r"([-+]|VC|)(SH|TS|FZ|)(RA|SN|DZ|BR|FG|HZ|GR|FU)"),
        lambda m: f"{_INTENSITY[m[1]]}{_DESCRIBED[m[2]]}{_WEATHER[m[3]]}",
    ),
)


def _group(text: str) -> str:
    if text in _WORDS:
        return _WORDS[text]
    read = (words(match) for form, words in _GROUPS if (match := form.fullmatch(text)))
    return next(read, text)


def _report(match: re.Match[str]) -> str:
    """The station, the day of the month, the time and what was observed, with pauses between."""
    station = " ".join(letter.replace("A", LETTER_A) for letter in match[2])
    time = f"day {cardinal(int(match[3]))}, {digits(match[4])} Zulu"
    groups = (_group(group[1]) for group in _GROUP.finditer(match[5]))
    return ", ".join([f"{match[1] or ''}{station}", time, *groups])


METAR: tuple[Phrase, ...] = ((_REPORT, _report),)
"""Phrases, each with what it is replaced by, before any other is expanded."""
