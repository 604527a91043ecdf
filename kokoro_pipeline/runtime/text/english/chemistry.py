"""Chemical formulas, ions and isotopes."""

from __future__ import annotations

import re

from ..tracked import Piece
from .numbers import in_pairs
from .rules import Rule

ELEMENT = (
    r"(?:A[cglrstu]|B[aeikr]?|C[adelorsu]?|E[ru]|Fe?|G[ade]|H[efgo]?|I[nr]?|Kr?|L[aiu]|M[gno]|N[abdei]?"
    r"|O[s]?|P[btu]?|R[abnu]|S[bceimnr]?|T[aehil]|U|V|W|Xe|Yb?|Z[nr])"
)
"""The symbol of an element."""
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻−", "0123456789+--")


def _spelled(letters: str) -> str:
    return ".".join(letters.upper())


# Symbols that are neither words nor names, and those that are read as symbols beside one of them.
_PLAIN_SYMBOL = "Cd|Cr|Cu|Fe|Hg|Mg|Mn|Pb|Sn|Zn"
_LISTED_SYMBOL = rf"(?:{_PLAIN_SYMBOL}|Ag|Al|Au|Ca|Cl|Co|K|Li|Na|Ni|Si|Ti)"
_JOINT = r"(?:,? (?:and|or|to) |, |[/-])"
_SYMBOL_OR_SIGN = re.compile(r"[A-Z][a-z]?|[/-]")


def _symbols(match: re.Match[str], british: bool) -> list[Piece]:
    """Elements by their symbols: "Cu", "Al, Fe and Zn"."""
    return [
        Piece(" " if part[0] in "/-" else _spelled(part[0]), *part.span())
        for part in _SYMBOL_OR_SIGN.finditer(match.string, *match.span())
    ]


def _letters_and_numbers(formula: str) -> str:
    parts = re.findall(r"[A-Za-z]+|\d+", formula)
    return " ".join(_spelled(part) if part.isalpha() else part for part in parts)


def _formula(match: re.Match[str], british: bool) -> str:
    """A chemical formula: "CO2", "H2SO4", "C2H5OH", "Ca(OH)2"."""
    return _letters_and_numbers(match[0])


def _ion(match: re.Match[str], british: bool) -> str:
    """An ion with its charge: "Na+", "Ca2+", "Cl⁻"."""
    formula, charge = (match[1], match[2]) if match[1] else (match[3], match[4])
    charge = charge.translate(_SUPERSCRIPTS)
    sign = "plus" if charge.endswith("+") else "minus"
    return f"{_letters_and_numbers(formula)} {charge[:-1]} {sign}"


def _isotope(match: re.Match[str], british: bool) -> str:
    """The mass of an isotope before its symbol: "¹⁴C"."""
    return f"{in_pairs(match[1].translate(_SUPERSCRIPTS), british)} {_spelled(match[2])}"


ISOTOPES: tuple[Rule, ...] = (
    (re.compile(rf"(?<![\w)])([¹²³⁰⁴-⁹]{{1,3}})({ELEMENT})(?!\w)"), _isotope),
    (
        re.compile(
            rf"\b((?:{ELEMENT}\d{{0,2}}){{1,6}})([²³⁴]?[⁺⁻])"
            r"|\b(Na|Ca|Mg|Cl|Fe|Zn|Cu|Li|Al|Ag|Br|Mn|Pb|Ba|K|H|OH|NH4|NO3|HCO3)"
            r"([2-4²³⁴]?(?:\+|⁺|⁻)|(?<=Cl)-|(?<=Br)-)(?=\s(?![\d(=])|[.,;:)]|$)"
        ),
        _ion,
    ),
)

FORMULAS: tuple[Rule, ...] = (
    (
        re.compile(
            r"(?<![\w/-])(?<!Santa )"
            rf"(?=(?:{_LISTED_SYMBOL}{_JOINT}){{0,6}}(?:{_PLAIN_SYMBOL})(?![\w’']))"
            rf"{_LISTED_SYMBOL}(?:{_JOINT}{_LISTED_SYMBOL}){{1,8}}(?![\w/])"
            rf"|\bCu(?![\w'’-])|(?<![\w/-])(?:{_LISTED_SYMBOL})"
            r"(?=[ -](?:atom|ion|nanoparticle|electrode|foil|alloy|isotope|film|content)s?\b)"
        ),
        _symbols,
    ),
    (
        re.compile(
            r"(?:\b(?:CO2|NO2|SO2|CH4|NH3|HNO3|O2|N2|(?:Na|K)(?:Cl|OH)|HCl"
            rf"|(?=[A-Za-z]{{1,16}}\d+[A-Z]|[A-Z][A-Za-z]{{0,15}}[a-z][A-Za-z]{{0,15}}\d)(?:{ELEMENT}\d{{0,2}}){{2,8}})"
            rf"|(?<![\w.])(?:{ELEMENT}\d{{0,2}}){{0,4}}(?:\((?:{ELEMENT}\d{{0,2}}){{1,5}}\)\d{{1,2}}){{1,2}}"
            rf"(?:{ELEMENT}\d{{0,2}}){{0,4}})"
            r"(?!\w)"
        ),
        _formula,
    ),
)
