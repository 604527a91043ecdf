"""English words inside a text of another language."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable

from .pieces import Piece
from .reading import Reader

_NAME = r"[A-Za-zÀ-ÖØ-öø-ɏ]+(?:['’.&+-]?[A-Za-z0-9À-ÖØ-öø-ɏ]+)*"
ENGLISH_RUN = re.compile(rf"{_NAME}(?: +{_NAME})*")
"""Latin words with single spaces or more between them, and digits behind letters ("GPT-4")."""

_OPENING = '([“"—'


def english_pieces(run: str, start: int) -> list[Piece]:
    """The pieces of a run of English words that stands at `start` of a text.

    Raises EnvironmentFault if the `text` extra is not installed.
    """
    english: Reader = importlib.import_module(".english.reader", __package__).load_reader("en-us")
    pieces: list[Piece] = []
    for sentence in english.read(run):
        if pieces:
            pieces.append(Piece(pieces[-1].end, pieces[-1].end, " "))
        at = 0
        for word in sentence.words:
            before = sentence.phonemes[at : word.offset]
            pieces.append(Piece(start + word.start, start + word.end, before + word.phonemes))
            at = word.offset + len(word.phonemes)
    return pieces


def set_off(pieces: Iterable[Piece], before: str, after: str) -> list[Piece]:
    """English pieces with a space before and after where `before` and `after`, the sounds around
    them, leave none and are no marks."""
    found = list(pieces)
    if not found:
        return found
    first, last = found[0], found[-1]
    if before and not before[-1].isspace() and before[-1] not in _OPENING:
        found.insert(0, Piece(first.start, first.start, " "))
    if after[:1].isalpha():
        found.append(Piece(last.end, last.end, " "))
    return found
