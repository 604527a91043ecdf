"""Words with a hyphen that are more than the sum of their tag: compounds and stammered words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .tables import word_sets

_LISTS = word_sets("compounds")
_STAMMER = re.compile(
    r"((?P<start>[bcdfghjklmnpqrstvwxz]{2}|[^\W\d_])-(?:(?P=start)-)*)((?P=start)[\w']*)", re.I
)


class Part(NamedTuple):
    """A part of a compound, or the hyphen after it, and the Penn tag that it is read with."""

    text: str
    tag: str


def split_stammer(word: str) -> tuple[str, str]:
    """The repeated beginnings of a stammered word and the word itself: "b-" and "but".

    "T-test" and "C-clamp" begin with the name of a letter: there the first part is empty.
    """
    match = _STAMMER.fullmatch(word)
    if match is None:
        return "", word
    begun, start, rest = match[1], match["start"], match[3]
    lone = rest.lower() == start.lower()
    once = begun.count("-") == 1 and len(start) == 1
    named = start.isupper() and rest.islower() and rest not in _LISTS["stammered"]
    lettered = once and (named or rest.lower() in _LISTS["lettered"] or start in "eExX")
    if lettered or (lone and start not in "IA"):
        return "", word
    return begun, rest


def split_compound(word: str, tag: str) -> Iterator[Part]:
    """The parts of a compound and its hyphens.

    Its last part has the tag of the compound if that is a verb ("re-record") or an adverb; a part
    before it is a noun or adjective ("record-breaking"), but a verb before a particle ("wind-up").
    """
    parts = word.split("-")
    for i, part in enumerate(parts):
        if i:
            yield Part("-", "HYPH")
        yield Part(part, _part_tag([p.lower() for p in parts], i, tag))


def has_article(parts: Sequence[str]) -> bool:
    """Whether "a" is the article between the parts, or the prefix of "a-coming"."""
    return "a" in parts[1:-1] or (parts[0] == "a" and parts[-1].endswith(("in'", "ing")))


def _part_tag(parts: list[str], i: int, tag: str) -> str:
    if parts[i] == "a" and has_article(parts):
        return "DT"
    if i + 1 < len(parts):
        if parts[i + 1] in _LISTS["particles"]:
            return "VBN" if parts[i] == "wound" else "VB"
        return "JJ" if parts[i] in _LISTS["adjectives"] else "NN"
    if parts[i] in _LISTS["past"]:
        before = parts[i - 1]
        return "VBN" if before in _LISTS["degrees"] or before.endswith("ly") else tag
    inflected = parts[i].endswith(("ed", "ing", "s"))
    if inflected or tag == "VB" or parts[i - 1] in _LISTS["prefixes"]:
        return tag
    return "JJ" if parts[i] in _LISTS["adjectives"] else "NN"
