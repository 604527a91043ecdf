"""Marks that do not end a phrase: around a word or two, and around what interrupts a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from .kinds import LISTS

_CLOSED_BY = {"“": "”", "(": ")", ",": ",", "—": "—"}
_LONGEST_POINTED_AT = {"“": 3, "(": 1}
"""Words between the marks: more may be a sentence of their own."""
_LONGEST_ASIDE = 5
_CLITICS = ("n't", "'ve", "'d", "'ll", "'m", "'re")


def strands(words: Sequence[str]) -> list[list[int]]:
    """The places of the words of a sentence, and behind them those of each aside in it.

    Marks that only point at a word are in none: the quotation marks of 'to "record" it', the
    parentheses of "a (live) show", but not those around what somebody says nor around a word that
    is spoken about, as in 'the verb "record"'. An aside, with the marks around it, follows a
    subject or an auxiliary verb, whose verb stands behind it: "She has, of course, read it".
    """
    sentence: list[int] = []
    asides: list[list[int]] = []
    i = 0
    while i < len(words):
        if (end := _pointed_at(words, i)) is not None:
            sentence += range(i + 1, end)
        elif (end := _aside(words, i)) is not None:
            asides.append(list(range(i + 1, end)))
        else:
            sentence.append(i)
            end = i
        i = end + 1
    return [sentence, *filter(None, asides)]


def _pointed_at(words: Sequence[str], i: int) -> int | None:
    """The place of the mark that closes the one at `i`, if both only point at what is between."""
    mark, before = words[i], words[i - 1].lower() if i else ""
    if mark not in _LONGEST_POINTED_AT or not before[-1:].isalpha():
        return None
    if before in LISTS["spoken_about"]:
        return None
    if mark == "(" and before not in LISTS["before_parenthesis"]:
        return None
    return _closing(words, i, _LONGEST_POINTED_AT[mark])


def _aside(words: Sequence[str], i: int) -> int | None:
    """The place of the mark that closes the aside which the mark at `i` opens, if it opens one."""
    before, earlier = (words[j].lower() if j >= 0 else "" for j in (i - 1, i - 2))
    if before in ("it", "you"):  # unless it is an object: "I read it, she reads it, they read it"
        interrupted = not earlier[-1:].isalpha() or earlier in LISTS["before_subject"]
        before = earlier  # an auxiliary verb: "Have you, by chance, read it?"
    else:
        interrupted = before.endswith(_CLITICS)
    if not interrupted and before not in LISTS["interrupted"]:
        return None
    end = i if words[i] == "…" else _closing(words, i, _LONGEST_ASIDE)
    goes_on = end is not None and end + 1 < len(words) and words[end + 1][:1].isalpha()
    return end if goes_on else None


def _closing(words: Sequence[str], i: int, longest: int) -> int | None:
    """The place of the mark that closes the one at `i`, behind up to so many words."""
    for end in range(i + 2, min(i + 2 + longest, len(words))):
        if words[end] == _CLOSED_BY.get(words[i]):
            return end
        if not words[end - 1][:1].isalpha():
            return None
    return None
