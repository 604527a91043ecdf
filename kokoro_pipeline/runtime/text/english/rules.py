"""What a rule is: a pattern of written English, and what its matches are replaced by."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..tracked import Replacement

Rule = tuple[re.Pattern[str], Callable[[re.Match[str], bool], Replacement]]
"""A pattern and what replaces its matches; the second argument chooses British English."""

Phrase = tuple[re.Pattern[str], str | Callable[[re.Match[str]], Replacement]]
"""A pattern and what replaces its matches in American and British English alike."""

_SENTENCE_ENDS = re.compile(r"\s*$|\s+[A-Z“\"]")


def ends_sentence(match: re.Match[str]) -> bool:
    """Whether the paragraph ends behind the match, or another sentence may begin there."""
    return bool(_SENTENCE_ENDS.match(match.string, match.end()))


def kept_point(match: re.Match[str]) -> str:
    """The point of an abbreviation that the match ends with, if it also ends the sentence."""
    return "." * (match[0].endswith(".") and ends_sentence(match))
