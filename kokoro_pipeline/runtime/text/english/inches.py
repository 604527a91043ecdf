"""Inches in conversions and behind feet, whose "in" is no preposition: "5 cm (2.0 in)"."""

from __future__ import annotations

import re

from ..tracked import Piece
from .number_forms import NUMBER, is_one
from .rules import Phrase

_PART = r"\d{1,2}/\d{1,2}"
_JOINT = r"(?:\s?[-–x×]\s?|\s(?:to|by|or|and)\s)"
_EXTENT = (
    r"\s(?:wide|tall|long|high|deep|thick|across|square|gauge|above|below|overall|in\sdiameter)\b"
)


def _inches(match: re.Match[str]) -> list[Piece]:
    """The unit as a word; of 1 and of parts of 1 it is "inch"."""
    singular = is_one(match[1]) or re.fullmatch(_PART, match[1])
    return [Piece("inch" if singular else "inches", *match.span(2))]


INCHES_IN_BRACKETS: tuple[Phrase, ...] = (
    (re.compile(rf"(?<=\d)\+(?={_PART}[\s-](?:in|inch|ft|feet|foot|mi|miles?|lb|yd)\b)"), " "),
    (
        re.compile(
            r"(?:\(|[;=≈]\s)(?:(?:about|approximately|approx\.|around|circa|c\.|over|up to)\s)?"
            rf"((?:{NUMBER}\s)?{_PART}|{NUMBER}(?:{_JOINT}{NUMBER}){{0,2}})"
            r"\s(in)(?=\))"
        ),
        _inches,
    ),
    # A height of one digit is "six foot two", which is read elsewhere.
    (
        re.compile(
            r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})?(?=\sft\s\d{1,2}\s\d)|\d{2,3}|\d{1,3},\d{3}|\d{4})\sft\s"
            rf"((?:1[01]|\d)(?:\s{_PART})?)\s(in)(?=[).,;:]|$|{_EXTENT}|\s(?:by|and)\s(?!out\b))"
        ),
        _inches,
    ),
)
"""Phrases, each with what it is replaced by, before any other is expanded."""
