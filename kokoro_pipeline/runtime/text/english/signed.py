"""Signs before numbers that would be taken for dashes, ranges or lost: "–0.3%", "p<.05"."""

from __future__ import annotations

import re

from ..tracked import Piece, Replacement
from .letters import letter_name
from .rules import Phrase

_COMPARED = {"<": "less than", ">": "more than", "≤": "at most", "≥": "at least"}
_SCALED = (
    r"(?:(?<=\bat )|(?<=\bto )|(?<=\bof )|(?<=\bis )|(?<=\bwas )|(?<=\bhit )|(?<=\bnear )"
    r"|(?<=\bfrom )|(?<=\baround )|(?<=\babout )|(?<=\bbelow )|(?<=\babove )|(?<=\bover )"
    r"|(?<=@ )|(?<=\bunder )|(?<=\breached )|(?<=\bpast ))"
)
_NOT_HEAT = (
    r"(?!/\d|\s(?:discharge|charge|rat(?:e|es|ing|ings)|LiPo|batter(?:y|ies)|seats?|capacitor)\b)"
)


def _degrees(match: re.Match[str]) -> list[Piece]:
    """The letter of a scale of temperatures or a point of the compass: "-5C", "18.5N 65W"."""
    return [Piece("°", match.end(), match.end())]


def _compared(match: re.Match[str]) -> list[Piece]:
    """A comparison behind "you're" and "they've"."""
    sign = match[1].replace(">=", "≥").replace("<=", "≤")
    return [Piece(_COMPARED[sign], *match.span(1))]


def _exponent(match: re.Match[str]) -> list[Piece]:
    """A power with a sign: "e^-x", "2^(-n)"."""
    letters = " ".join(letter_name(letter) for letter in match[2])
    return [Piece(f" to the power of minus {match[1]} {letters}", *match.span())]


def _difference(match: re.Match[str]) -> Replacement:
    return [Piece(" minus ", *match.span())]


SIGNED: tuple[Phrase, ...] = (
    (re.compile(r"(?<![A-Za-z/])\+\s?/\s?[-–](?!\w*/)|(?<![\w/])\+-(?=\s?\.?\d)"), "±"),
    (re.compile(r"(?<!\w)Δ(?=[A-Z]{3}\b)"), "△"),
    (re.compile(r"(?:^|(?<=[\s(]))(?<!\d )(?<!\d\)\s)–(?=[$£€¥]?\.?\d)"), "-"),
    (re.compile(r"(?<=[\d)] )[-−–](?= \([-−]\s?\d)"), "minus"),
    (re.compile(r"(?<=[\d%] )[-–](?=\d+(?:\.\d+)?%)(?!\d{4}\b)"), "minus "),
    (re.compile(r"([$£€¥])[-−–](?=\.?\d)"), r"-\1"),
    (re.compile(r"(\$(US|AU?|NZ|HK)\d[\d.,]{0,12}[-–]\$)\2(?=\d)"), r"\1"),
    (re.compile(r"(?<![\w=(:,*+/$])\$(US|AU?|NZ|HK)\s?(?=\d)(?!\d{1,4}[:)*+/$])"), r"\1$"),
    (re.compile(r"(?<=\d)(['′])[-‐–](?:0[\"″”]|(?=\d{1,2}[\"″” ]))"), r"\1"),
    (re.compile(r"(?<=[\w)][<>=≤≥])\.(?=\d)|(?<=[\w)] [<>=≤≥])\.(?=\d)"), "0."),
    (re.compile(r"(?<![^\s(,])(?<!\b\w )>=(?=[$£€]?\.?\d)"), "≥"),
    (re.compile(r"(?<![^\s(,])(?<!\b\w )<=(?=[$£€]?\.?\d)"), "≤"),
    (re.compile(r"(?<=['’]re )([<>]=?|[≤≥])(?=\s?[$£€]?\.?\d)"), _compared),
    (re.compile(r"(?<=['’]ve )([<>]=?|[≤≥])(?=\s?[$£€]?\.?\d)"), _compared),
    (
        re.compile(
            r"(?=[-−–\d])(?:"
            rf"(?<![^\s(])[-−–]\d{{1,3}}(?:\.\d)?(?=\s?[CF]\b){_NOT_HEAT}"
            rf"|(?<![\w.,/-])\d{{1,3}}\s?[-–]\s?\d{{2,3}}(?=[CF]\b{_NOT_HEAT})"
            rf"|{_SCALED}\d{{2,3}}(?:\.\d)?(?=[CF]\b{_NOT_HEAT})"
            rf"|(?<![\w.,/-])\d{{2,3}}\.\d(?=[CF]\b{_NOT_HEAT})"
            r"|(?<![\w.,/-])\d{1,2}(?:\.\d{1,6})?(?=\s?[NS],?\s\d{1,3}(?:\.\d{1,6})?\s?[EW]\b)"
            r"|(?:(?<=\d[NS] )|(?<=\d[NS], ))\d{1,3}(?:\.\d{1,6})?(?=\s?[EW]\b)"
            r")"
        ),
        _degrees,
    ),
    (re.compile(r"(?<=\w)\^\(?[-−](\d{0,3})([a-zA-Zα-ω]{1,2})\)?(?!\w)"), _exponent),
    (re.compile(r"(?<![\w])([A-Z])(?=Δ[A-Z]\b)"), r"\1 "),
    (re.compile(r"(?<=\bΔ[A-Z])\s[-−–]\s(?=\w)|(?<=\w)\s[-−–]\s(?=[A-Z]? ?Δ)"), _difference),
)
"""Phrases, each with what it is replaced by, before any other is expanded."""
