"""Tell the number of "1984 votes" from the year of "the 1984 crisis" by the words around it."""

from __future__ import annotations

import re

from .tables import word_sets
from .tagging.kinds import CLOSED

_LISTS = word_sets("years")
_FOLLOWING = re.compile(r"\s+([a-z]+)\b")
_PLURAL = re.compile(r"(?!\w+(?:sis|us)\b)[a-z]{2,}[^s\W]s")
# "2024 sales may fall", and "1998 more than half".
_NO_COUNT = re.compile(r"\s(?:may|might|will|would|could)\b|(?<=\smore)\sthan\b")
_OWNER = r"(?:\b(?:[Tt]he|[Tt]his|[Ii]ts|[Hh]is|[Hh]er|[Tt]heir|[Oo]ur|[Mm]y|[Yy]our)|['’]s)"
_QUANTITY = "|".join(sorted(_LISTS["quantity"]))
_CLAUSE = r"(?:^\s?|[.!?;:,—(”\"]\s?|\b(?:and|but|that|when|where|while|because|which|who|so)\s)"
_OWNED_BEFORE = re.compile(
    rf"(?:\b[Aa]n?|{_OWNER}|{_OWNER}\s(?!(?:{_QUANTITY})\b)[a-z]{{3,}}(?:-[a-z]+)?)\s$"
)
_YEAR_BEFORE = re.compile(
    r"\b(?:[Ii]n|[Ss]ince|[Uu]ntil|[Tt]ill)\s$"
    rf"|{_CLAUSE}(?:[Aa]fter|[Bb]efore|[Bb]y|[Dd]uring|[Ff]rom)\s$"
    rf"|\b(?:[A-Z][a-z]+|{'|'.join(sorted(_LISTS['of_year']))})\sof\s$"
    r"|[a-z,)]\s[A-Z][A-Za-z]+\s$"
)
_SENTENCE_START = re.compile(r"(?:^\s?|[.!?]\s)$")
_IN_AT_START = re.compile(r"(?:^\s?|[.!?]\s)In\s$")


def is_count(match: re.Match[str], number: str) -> bool:
    """Whether the number, which ends where the match does, counts what follows: "1984 votes"."""
    following = _FOLLOWING.match(match.string, match.end())
    if not following or _NO_COUNT.match(match.string, following.end()):
        return False
    word = following[1]
    if word in _LISTS["counted"] and 1900 <= int(number) < 2050:
        return not _IN_AT_START.search(match.string, 0, match.end() - 4)
    if word in ("of", "more") or word in _LISTS["counted"]:
        return True
    if not _PLURAL.fullmatch(word) or word in CLOSED:
        return False
    if word in _LISTS["dated"] or word in _LISTS["single"]:
        return False
    return not _is_dated(match, int(number), word)


def _is_dated(match: re.Match[str], number: int, noun: str) -> bool:
    """Whether the words before the number call for a year: "In 1968 students marched"."""
    if not 1500 <= number < 2050 or number % 50 == 0:
        return False
    start = match.end() - 4
    before = match.string[max(0, start - 50) : start]
    if _YEAR_BEFORE.search(before):
        return True
    if _OWNED_BEFORE.search(before):
        return noun not in _LISTS["owned"]
    return number >= 1900 and bool(_SENTENCE_START.search(before))
