"""Marks around a word or two in the middle of a phrase, which change nothing of its grammar."""

from __future__ import annotations

from collections.abc import Sequence

from .kinds import LISTS

_CLOSED_BY = {"“": "”", "(": ")"}
_LONGEST = {"“": 3, "(": 1}
"""Words between the marks: more may be a sentence of their own."""


def unquoted(words: Sequence[str]) -> list[int]:
    """The places of the words of a sentence without marks that only point at a word of it.

    Such are the quotation marks of 'to "record" it' and the parentheses of "a (live) show", but
    neither what somebody says nor a word that is spoken about, as in 'the verb "record"'.
    """
    kept, i = [], 0
    while i < len(words):
        end = _closing(words, i)
        if end is None:
            kept.append(i)
            i += 1
        else:
            kept += range(i + 1, end)
            i = end + 1
    return kept


def _closing(words: Sequence[str], i: int) -> int | None:
    """The place of the mark that closes the one at `i`, if both only point at what is between."""
    mark, before = words[i], words[i - 1].lower() if i else ""
    if mark not in _CLOSED_BY or not before[-1:].isalpha() or before in LISTS["spoken_about"]:
        return None
    if mark == "(" and before not in LISTS["before_parenthesis"]:
        return None
    for end in range(i + 2, min(i + 2 + _LONGEST[mark], len(words))):
        if words[end] == _CLOSED_BY[mark]:
            return end
        if not words[end - 1][:1].isalpha():
            return None
    return None
