"""What pilots say: "squawk 7700", "FL240", "Runway 9R/27L", "wind 250 at 12G20"."""

from __future__ import annotations

import re

from ..tracked import Piece
from .number_forms import digit_by_digit
from .numbers import cardinal, digits
from .rules import Rule


def _flight_level(match: re.Match[str], british: bool) -> list[Piece]:
    """A height in hundreds of feet: "FL240"."""
    return [Piece(f"flight level {digits(match[1])}", *match.span())]


def _wind(match: re.Match[str], british: bool) -> list[Piece]:
    """Where the wind comes from, and its speed and gusts in knots: "wind 250 at 12G20"."""
    gusts = f" gusting {cardinal(int(match[3]))}" if match[3] else ""
    words = f"{digits(match[1])} at {cardinal(int(match[2]))}{gusts}"
    return [Piece(words, match.start(1), match.end())]


def _frequency(match: re.Match[str], british: bool) -> list[Piece]:
    """What a radio is tuned to: "contact tower on 118.7"."""
    return [Piece(f"{digits(match[1])} point {digits(match[2])}", match.start(1), match.end())]


_SIDES = {"L": "left", "R": "right", "C": "center"}


def _runway(match: re.Match[str], british: bool) -> list[Piece]:
    """The direction of a runway and its side: "Runway 9R/27L"."""
    ends = [
        f"{digits(number)} {_SIDES[side]}" if side else digits(number)
        for number, side in ((match[1], match[2]), (match[3], match[4]))
        if number
    ]
    return [Piece(", ".join(ends), match.start(1), match.end())]


AVIATION: tuple[Rule, ...] = (
    (re.compile(r"\b(?:[Ss]quawk(?:ing)?|QNH) (\d{4})\b"), digit_by_digit),
    (
        re.compile(
            r"\b[Rr](?:un)?way (\d{1,2})([LRC])?(?:/(\d{1,2})([LRC])?)?"
            r"(?![\w/-]|[.,]\d|\s(?:days?|weeks?|months?|years?|minutes?|hours?)\b)"
        ),
        _runway,
    ),
    (re.compile(r"(?:\bFL|(?<!, )\bFL )(\d{3})(?![\w-]|[.,]\d)"), _flight_level),
    (
        re.compile(
            r"\b(?:[Tt]ower|[Gg]round|[Aa]pproach|[Dd]eparture|[Cc]ent(?:er|re)|[Rr]adar|[Rr]adio|[Dd]elivery"
            r"|[Dd]irector|ATIS|CTAF|UNICOM|guard)(?: on| at)?"
            r" (1[123]\d)\.(\d{1,3})(?![\w-]|[.,]\d)"
        ),
        _frequency,
    ),
    (re.compile(r"\b[Ww]ind (\d{3}) at (\d{1,2})(?:G(\d{1,2}))?(?![\w-]|[.,]\d)"), _wind),
)
