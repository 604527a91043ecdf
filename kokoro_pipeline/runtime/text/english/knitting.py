"""Patterns for knitting and crochet: "k2, p2", "k1, yo, k2tog", "rep from * to end"."""

from __future__ import annotations

import re

from ..tracked import Piece
from .numbers import cardinal
from .rules import Phrase

_WORDS = {"k": "knit", "p": "purl", "sl": "slip", "ch": "chain", "yo": "yarn over"}
_CROCHET = {
    "sc": "single crochet",
    "hdc": "half double crochet",
    "dc": "double crochet",
    "tr": "treble crochet",
    "sl st": "slip stitch",
}
_WHERE = r"(?:next|each|every|same|first|last|(?:the )?\d{1,2}(?:st|nd|rd|th))"
_COUNT = r"\d{1,2}(?:tog)?(?!\w)"
_NEXT = rf"(?:[kp]{_COUNT}|sl ?{_COUNT}|yo\b|ssk\b)"
_EACH = re.compile(r"([KkPp]|[Ss]l) ?(\d{1,2})(tog)?\b|\b(yo)\b")


def _step(match: re.Match[str]) -> Piece:
    """A step and how often it is done: "k2", "p2tog"."""
    if match[4]:
        return Piece("yarn over", *match.span())
    word = _WORDS[match[1].lower()]
    step = word.capitalize() if match[1][0].isupper() else word
    together = " together" if match[3] else ""
    return Piece(f"{step} {cardinal(int(match[2]))}{together}", *match.span())


def _made_in(match: re.Match[str]) -> str:
    """A stitch before where it is worked: "dc in 3rd ch"."""
    words = _CROCHET[match[1].lower()]
    return words.capitalize() if match[1][0].isupper() else words


def _place(match: re.Match[str]) -> str:
    """The stitch that one is worked into: "in next st", "in 3rd ch"."""
    return f"{match[1]} {'stitch' if match[2] == 'st' else _CROCHET.get(match[2], 'chain')}"


def _steps(match: re.Match[str]) -> list[Piece]:
    """Two steps or more, or one before the word of what it is done to: "*k2, p2; rep"."""
    return [_step(step) for step in _EACH.finditer(match.string, *match.span())]


KNITTING: tuple[Phrase, ...] = (
    (
        re.compile(r"(?:(?<=: )|(?<=^))([KP])(?= (?:across|to end|all sts)\b)"),
        lambda m: _WORDS[m[1].lower()].capitalize(),
    ),
    (re.compile(r"(?<=\d )sts\b\.?(?=[.,;:)*]|\s[a-z&]|$)"), "stitches"),
    (
        re.compile(
            rf"\b([Ss]c|[Hh]dc|[Dd]c|[Tt]r|[Ss]l st)(?= in {_WHERE} (?:ch|st|sc|hdc|dc|tr)\b)"
        ),
        _made_in,
    ),
    (re.compile(rf"(?<= in )({_WHERE}) (st|ch|sc|hdc|dc|tr)\b"), _place),
    (re.compile(r"(?<=[,;*] )ch(?= \d{1,2}\b(?![.,]\d))"), "chain"),
    (
        re.compile(
            rf"(?<![\w.-])(?:(?:[KkPp]{_COUNT}|[Ss]l ?{_COUNT}|yo|ssk)(?:[,;*] ?\*?{_NEXT})+"
            r"|(?:(?<=stitches, )|(?<=row, )|(?<=end, ))[kp]\d{1,2}(?!\w)"
            r"|[KkPp]\d{1,2}(?:tog"
            r"|(?=[,;*]? (?:rep|st(?:s|itch(?:es)?)|in (?:next|each|every))\b)))"
        ),
        _steps,
    ),
    (
        re.compile(
            r"\b([Rr])ep\b\.?(?=\s(?:(?:from|between)\s\*|\*|rows?\s|rnds?\s|last\s|to end))"
        ),
        r"\1epeat",
    ),
    (re.compile(r"(?<=\bfrom )\*(?=[\s,.;]|$)|(?<=\bto )\*(?=[\s,.;]|$)"), "star"),
)
"""Phrases, each with what it is replaced by, before abbreviations are expanded."""
