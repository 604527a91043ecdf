"""What chemists and biologists write: "0.1 N HCl", "Pu-239", "O157:H7", "mRNA-1273"."""

from __future__ import annotations

import re

from ..tracked import Piece
from .numbers import in_pairs
from .rules import Phrase

_NAMES = {
    **{"Am": "americium", "Co": "cobalt", "Cs": "cesium", "Ir": "iridium", "Lu": "lutetium"},
    **{"Pu": "plutonium", "Po": "polonium", "Ra": "radium", "Rn": "radon", "Sr": "strontium"},
    **{"Tc": "technetium", "Th": "thorium", "Xe": "xenon"},
}
"""Elements whose isotopes are named by the word for the element, not by its symbol."""
_ISOTOPE = re.compile(rf"\b({'|'.join(_NAMES)})-(\d{{2,3}})(m)?(?![\w-]|[.,]\d)")
_REAGENTS = (
    r"(?:HCl|HNO[3₃]|H[2₂]SO[4₄]|NaOH|KOH|KMnO[4₄]|acid|base|sodium|potassium|sulfuric|hydrochloric"
    r"|nitric|solutions?)\b"
)


def _isotope(match: re.Match[str]) -> list[Piece]:
    """An element and its mass: "Cs-137", "Tc-99m"."""
    words = f"{_NAMES[match[1]]} {in_pairs(match[2])}{' M' if match[3] else ''}"
    return [Piece(words, *match.span())]


def _candidate(match: re.Match[str]) -> list[Piece]:
    """The number of a substance that is tried: "mRNA-1273", "BNT162b2"."""
    return [Piece(f" {in_pairs(match[1] or match[2])} ", *match.span())]


LABORATORY: tuple[Phrase, ...] = (
    (_ISOTOPE, _isotope),
    # A count of blood: "WBC 7.1 K/µL".
    (
        re.compile(r"(?<=\d)\s?([KM])/[µμu]L\b"),
        lambda m: f" {'thousand' if m[1] == 'K' else 'million'} per microliter",
    ),
    (re.compile(rf"(?<=\d )N(?=\s{_REAGENTS})"), "normal"),
    (
        re.compile(r"(?<=\d )degrees F \((-?\d[\d.]*) C\)"),
        r"degrees Fahrenheit (\1 degrees Celsius)",
    ),
    (re.compile(r"(?<!\d)(?<!\d )\bM[☉⊙](?!\w)"), "solar mass"),
    (re.compile(r"\bEtOH\b"), "ethanol"),
    (re.compile(r"\bMeOH\b"), "methanol"),
    (re.compile(r"\bp(K[abw])(?=s?\b)"), lambda m: f"P.K.{m[1][1].upper()}"),
    (re.compile(r"(?<=\bO\d{2}):(?=H\d)|(?<=\bO\d{3}):(?=H\d)"), " "),
    (re.compile(r"(?<=\bmRNA)-(\d{4})\b ?|(?<=\bBNT)(\d{3})(?=b\d\b)"), _candidate),
)
"""Phrases, each with what it is replaced by, before abbreviations are expanded."""
