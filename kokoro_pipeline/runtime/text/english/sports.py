"""Scores and averages of sports that are not read as ranges or fractions."""

from __future__ import annotations

import re

from .number_forms import Rule
from .numbers import in_pairs

_CRICKET = re.compile(
    r"\b(?:overs?|ov|wickets?|innings|declared|runs|crease|bowl(?:ed|ers?)|batt?(?:ing|ers?|sm[ae]n)"
    r"|at (?:tea|lunch|stumps|the close))\b"
)


def _innings(match: re.Match[str], british: bool) -> str:
    """Runs and wickets of cricket, "287/6 off 50 overs"."""
    cricket = _CRICKET.search(match.string, max(0, match.start() - 40), match.end() + 40)
    return f"{match[1]} for {match[2]}" if cricket else match[0]


def _batting_average(match: re.Match[str], british: bool) -> str:
    return in_pairs(match[1] or match[2], british)


CRICKET: tuple[Rule, ...] = (
    (re.compile(r"(?<![\w.,/])(\d{2,3})/(\d)(?![\w/]|[.,]\d)"), _innings),
    (
        re.compile(
            r"(?<![\w.,/-])(\d{2,3})[-–](\d)"
            r"(?=\s(?:at (?:tea|lunch|stumps|the close)|declared|overnight|off)\b)"
        ),
        _innings,
    ),
)

BATTING: Rule = (
    re.compile(
        r"(?:(?<=\bhit )|(?<=\bhits )|(?<=\bhitting )|(?<=\bbatted )|(?<=\bbatting ))"
        r"\.([1-9]\d\d)(?!\d)"
        r"|(?<![\w.])\.([1-9]\d\d)(?=\s(?:OBP|AVG|SLG|OPS|batting|slugging|on-base|hitter|clip"
        r"|(?:career\s|lifetime\s)?average)\b)"
    ),
    _batting_average,
)
