"""Sentences in capitals: which words are letters although an ordinary word is spelled the same."""

from __future__ import annotations

from collections.abc import Sequence

from .tagging.kinds import CLOSED, LISTS


def letters_in_headline(words: Sequence[str]) -> set[int]:
    """Indices of US, IT and WHO where they are no pronouns: "EU AND US AGREE", "IT SECTOR"."""
    lower = ["", *(word.lower() for word in words), "", ""]
    found = set()
    for i, word in enumerate(words):
        before, after, beyond = lower[i], lower[i + 2], lower[i + 3]
        if word == "US" and not _is_pronoun(before, beyond if after == "and" else after):
            found.add(i)
        if word == "IT" and after in LISTS["acronym_it"]:
            found.add(i)
        if word == "WHO" and (before == "the" or after in LISTS["acronym_who"]):
            found.add(i)
    return found


def _is_pronoun(before: str, after: str) -> bool:
    """Whether US is who something is done to, or stands at the end of a phrase."""
    ends = not after.isalpha() or after in CLOSED
    return before in LISTS["takes_us"] or (before in LISTS["before_us"] and ends)
