"""What Japanese and Chinese texts write alike, and how rules rewrite them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from .say_as import written_date
from .tracked import Tracked

Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]
"""What is looked for, and what takes the place of each match."""

YEARS = range(1000, 2200)
"""Of two such numbers a dash makes the years from one to the other."""
TIME = re.compile(r"(?<![\d:])([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d))?(?![\d:])")
THOUSANDS: Rule = (
    re.compile(r"(?<![\d,.])\d{1,3}(?:,\d{3})+(?![\d,])"),
    lambda match: match[0].replace(",", ""),
)
_DATE = re.compile(r"(?<![\d./-])(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?![\d./-])")


def dates(lang: str) -> Rule:
    """The rule for a date such as 2024/07/14, which other numbers are not."""

    def said(match: re.Match[str]) -> str:
        year, month, day = int(match[1]), int(match[3]), int(match[4])
        if not (1 <= month <= 12 and 1 <= day <= 31):
            return match[0]
        return written_date({"y": year, "m": month, "d": day}, lang)

    return _DATE, said


def rewritten(text: Tracked, rules: Iterable[Rule]) -> Tracked:
    """The text after the rules, of which each sees what those before it have left."""
    for pattern, said in rules:
        text = text.edit(
            (*match.span(), new)
            for match in pattern.finditer(text.text)
            if (new := said(match)) != match[0]
        )
    return text
