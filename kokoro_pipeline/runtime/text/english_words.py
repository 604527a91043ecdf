"""English words inside a text of another language."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable

from .pieces import Piece
from .reading import Reader
from .tracked import Tracked

_NAME = r"[A-Za-zÀ-ÖØ-öø-ɏ]+(?:['’.&+-]?[A-Za-z0-9À-ÖØ-öø-ɏ]+)*"
_ADDRESS = (
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}"
    r"|https?://[!-~]*[A-Za-z0-9]"
)
ENGLISH_RUN = re.compile(rf"{_ADDRESS}|{_NAME}(?: +{_NAME})*")
"""Latin words with single spaces or more between them, digits behind letters ("GPT-4"), and
addresses."""

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


def placed_english_pieces(text: Tracked, start: int, end: int) -> list[Piece]:
    """The pieces of a run of English words in a text, at what they stand for in its original."""
    last = text.span(start, end)[1]
    return [
        Piece(*text.span(piece.start, piece.end), piece.sound)
        if piece.start < piece.end
        else Piece(last, last, piece.sound)
        for piece in english_pieces(text.text[start:end], start)
    ]


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
