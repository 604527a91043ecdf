"""Thousands, millions and more, as words and letters behind numbers."""

from __future__ import annotations

import re

from .number_forms import NUMBER, START, plain
from .rules import Rule

MAGNITUDE_NAMES = {
    **dict.fromkeys(("k", "K", "thousand"), "thousand"),
    **dict.fromkeys(("M", "m", "mn", "mm", "MM", "mil", "million"), "million"),
    **dict.fromkeys(("B", "b", "bn", "billion"), "billion"),
    **dict.fromkeys(("T", "tn", "trillion"), "trillion"),
    **{"crore": "crore", "lakh": "lakh", "lakh crore": "lakh crore"},
}
# It follows all digits of the number, not some of them: "$0.98e".
MAGNITUDE = (
    r"(?:[\s-]?(thousand|million|billion|trillion|crore|lakh(?: crore)?|[bmt]n|mil|MM"
    r"|(?<=\d)mm|[kKMmBbT]))?"
    r"(?![A-Za-z]|(?<=\d)\.?\d)"
)


def _with_magnitude(match: re.Match[str], british: bool) -> str:
    return f"{plain(match[1], british)} {MAGNITUDE_NAMES[match[2]]}"


_COUNTED_IN_MILLIONS = (
    r"followers|subscribers|users|people|views|viewers|listeners|voters|households|downloads"
    r"|soldiers|refugees|tourists|workers|children|adults|students|deaths|cases|Americans"
    r"|members|jobs|homes|fans|copies|customers|accounts|visitors|barrels|tonnes"
)
#: What there are thousands of; but screens have 4K, and races 10K.
_SOME_OF_THEM = (
    r"(?!\s(?:races|runs|runners|walks|events|finals|times|records|splits|this|was|has|is|plus|across)\b)"
    r"\s[a-z]{2,}(?:s|people|children)\b"
)
_COUNTED_IN_THOUSANDS = (
    r"(?=\s(?:(?:a|per)\s(?:year|month|week)|likes|miles|steps|words|lines|parameters|params|tokens"
    rf"|rows|records|images|devices|transactions|streams|units|shares|kilometers|{_COUNTED_IN_MILLIONS})\b)"
)
_POPULATION = re.compile(
    r"\bpopulation(?:\s(?:of|is|was)|:)(?:\s(?:about|some|nearly|almost|around|roughly|over))?\s$"
)


def _millions(match: re.Match[str], british: bool) -> str:
    """Millions with a small letter, which meters have elsewhere: "1.5m users", "a 1.5m pool"."""
    before = match.string[max(0, match.start() - 30) : match.start()]
    if not (match[3] or _POPULATION.search(before)):
        return match[0]
    return _with_magnitude(match, british)


MILLIONS: Rule = (
    re.compile(rf"{START}({NUMBER})(m)\b(?=(\s(?:{_COUNTED_IN_MILLIONS})\b)?)"),
    _millions,
)


def _race(match: re.Match[str], british: bool) -> str:
    """A race by its kilometers: "he ran a 5k"."""
    return f"{plain(match[1], british)} K"


MAGNITUDES: tuple[Rule, ...] = (
    (
        re.compile(
            r"(?:(?<=\b[Aa]\s)|(?<=\b[Rr][au]n\s)|(?<=first\s)|(?<=running\s)|(?<=charity\s))"
            r"([1-9]\d?|100)[kK](?=[.,;:!?)]|$|\s(?:and|or|then|in|on|at|last|this|next|every|for|race|run)\b)"
        ),
        _race,
    ),
    (re.compile(rf"{START}(?![248]K)({NUMBER})(K)(?={_SOME_OF_THEM})"), _with_magnitude),
    (
        re.compile(rf"{START}({NUMBER})(k|M|bn|tn|[KBT]{_COUNTED_IN_THOUSANDS})\b"),
        _with_magnitude,
    ),
)
"""Thousands and more by a letter, but for what has a letter only in its name."""
