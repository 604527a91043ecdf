"""Homographs: which words have several senses, and the phonemes of that which is meant."""

from __future__ import annotations

from collections.abc import Sequence

from ..tables import table
from .actions import ACTIONS
from .names import NAMES
from .place import Choose, Place, Sounds
from .qualities import QUALITIES
from .things import THINGS

_SENSES: dict[str, Choose] = {**THINGS, **ACTIONS, **QUALITIES, **NAMES}


def _collocations() -> dict[tuple[str, int, str], Sounds]:
    """Phonemes by word, distance of the neighbour that tells them (0 if there is none), and
    neighbour."""
    sounds: dict[tuple[str, int, str], Sounds] = {}
    for word, side, neighbours, american, british in table("collocations"):
        distance = {"before": -1, "after": 1, "alone": 0}[side]
        for neighbour in neighbours.split():
            sounds[word, distance, neighbour] = american, british
    return sounds


_COLLOCATIONS = _collocations()
_COLLOCATED = {word for word, _, _ in _COLLOCATIONS}
HOMOGRAPHS = frozenset(_SENSES)
"""The words whose sense is looked for and may depend on the tags around them."""


def sense_of(
    words: Sequence[str], tags: Sequence[str], i: int, capital: bool = False
) -> Sounds | None:
    """Phonemes of word `i` where its sense and not only its part of speech decides.

    `words` are the lower-case tokens of the sentence, `tags` their Penn tags. `capital` says
    whether the word is written with one.
    """
    if words[i] not in HOMOGRAPHS and words[i] not in _COLLOCATED:
        return None
    place = Place(words, tags, i, capital)
    alone = "" if sum(word.isalpha() for word in words) > 1 else "-"
    neighbours = ((words[i], -1, place.at(-1)), (words[i], 1, place.at(1)), (words[i], 0, alone))
    told = next((_COLLOCATIONS[key] for key in neighbours if key in _COLLOCATIONS), None)
    choose = _SENSES.get(words[i])
    return told or (choose(place) if choose else None)
