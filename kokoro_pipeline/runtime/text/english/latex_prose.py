"""Commands of LaTeX in prose: emphasis, citations, quantities, and scripts behind a word."""

from __future__ import annotations

import re

from ..tracked import Piece, Replacement, Tracked
from .numbers import plural

_RAISED = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")
_LOWERED = re.compile(r"(?<=[A-Za-z)])\$_\{?(\w{1,3})\}?\$")
_DEGREES = re.compile(r"(?<=\d)\s?\$\^\{?\\circ\}?\$")
_POWER = re.compile(r"(?<=[\w)])\$\^\{?([-+]?\d{1,4}[-+]?|[-+])\}?\$")
_SIGN = re.compile(
    r"\$\s?\\(sim|approx|pm|times|geq?|leq?)\s?\$(?=\s?[$£€]?\.?\d)|\$([<>~])\$(?=\s?\.?\d)"
)
_SIGNS = {
    **{"sim": "~", "approx": "≈", "pm": "±", "times": "×"},
    **{"geq": "≥", "ge": "≥", "leq": "≤", "le": "≤"},
}
_GROUP = r"\{([^{}\n]{0,300})\}"
_STYLED = re.compile(
    rf"\\(?:text(?:bf|it|tt|sc|rm|sf|sl|up|normal)?|emph|underline|enquote|title|author|caption"
    rf"|footnote|num|url){_GROUP}"
)
_HEADING = re.compile(rf"\\(?:part|chapter|(?:sub){{0,2}}section|paragraph)\*?{_GROUP}")
_SILENT = re.compile(
    r"[ \t~]?\\(?:[a-z]{0,6}cite[a-z]{0,8}\*?|label|nocite)(?:\[[^\]\n]{0,80}\]){0,2}"
    r"\{[^{}\n]{0,200}\}"
)
_QUANTITY = re.compile(
    r"\\(?:SI|qty)\{([-+]?\d[\d.,]{0,20})\}\{((?:\\[a-zA-Z]{2,20}\s?){1,12}|[^{}\\\n]{1,20})\}"
)
_ANGLE = re.compile(r"\\ang\{([-+]?\d[\d.]{0,20})\}")
_COMMAND = re.compile(r"\\([a-zA-Z]+)")
_PREFIXES = frozenset(
    ["pico", "nano", "micro", "milli", "centi", "deci", "hecto", "kilo", "mega", "giga", "tera"]
)
_BEFORE = {"square": "square", "cubic": "cubic"}
_BEHIND = {"squared": "squared", "cubed": "cubed", "percent": "percent"}
_UNITS = {
    "metre": "meter",
    "celsius": "degree Celsius",
    "degreeCelsius": "degree Celsius",
    "electronvolt": "electron volt",
    "litre": "liter",
}
_PLURALS = {"degree Celsius": "degrees Celsius", "hertz": "hertz", "siemens": "siemens"}


def expand_prose(text: Tracked) -> Tracked:
    """Take out commands around words, and write quantities and scripts as other texts do."""
    if "$" in text.text:
        text = text.sub(_LOWERED, r"\1").sub(_DEGREES, "°").sub(_POWER, _power)
        text = text.sub(_SIGN, lambda m: _SIGNS.get(m[1], m[2]))
    if "\\" not in text.text:
        return text
    text = text.sub(_SILENT, "").sub(_QUANTITY, _quantity).sub(_ANGLE, r"\1°")
    for _ in range(2):  # bold text that is emphasized
        text = text.sub(_STYLED, _inner)
    return text.sub(_HEADING, _heading)


def _power(match: re.Match[str]) -> str:
    return match[1].translate(_RAISED)


def _inner(match: re.Match[str]) -> list[Piece]:
    start, end = match.span(1)
    return [Piece("", match.start(), start), Piece("", end, match.end())]


def _heading(match: re.Match[str]) -> list[Piece]:
    start, end = match.span(1)
    return [Piece("\n\n", match.start(), start), Piece("\n\n", end, match.end())]


def _quantity(match: re.Match[str]) -> Replacement:
    r"""A number with a unit: "\SI{5}{\kilo\meter\per\second}"."""
    if "\\" not in match[2]:
        return f"{match[1]} {match[2]}"
    words: list[str] = []
    prefix = before = ""
    per = False
    for name in _COMMAND.findall(match[2]):
        if name in _PREFIXES:
            prefix = name
        elif name in _BEFORE:
            before = f"{name} "
        elif name == "per":
            words.append("per")
            per = True
        elif name in _BEHIND:
            words.append(_BEHIND[name])
        else:
            unit = prefix + _UNITS.get(name, name)
            if not per and match[1].lstrip("-+") != "1":
                unit = _PLURALS.get(unit) or plural(unit)
            words.append(before + unit)
            prefix = before = ""
    return f"{match[1]} {' '.join(words)}"
