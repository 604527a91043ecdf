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
    """Phonemes by word, distance of the neighbour that tells them, and neighbour."""
    sounds: dict[tuple[str, int, str], Sounds] = {}
    for word, side, neighbours, american, british in table("collocations"):
        distance = {"before": -1, "after": 1}[side]
        for neighbour in neighbours.split():
            sounds[word, distance, neighbour] = american, british
    return sounds


_COLLOCATIONS = _collocations()
HOMOGRAPHS = frozenset(_SENSES) | {word for word, _, _ in _COLLOCATIONS}
"""The words whose sense is looked for."""


def sense_of(
    words: Sequence[str], tags: Sequence[str], i: int, capital: bool = False
) -> Sounds | None:
    """Phonemes of word `i` where its sense and not only its part of speech decides.

    `words` are the lower-case tokens of the sentence, `tags` their Penn tags. `capital` says
    whether the word is written with one.
    """
    if words[i] not in HOMOGRAPHS:
        return None
    place = Place(words, tags, i, capital)
    neighbours = ((words[i], distance, place.at(distance)) for distance in (-1, 1))
    told = next((_COLLOCATIONS[key] for key in neighbours if key in _COLLOCATIONS), None)
    choose = _SENSES.get(words[i])
    return told or (choose(place) if choose else None)
