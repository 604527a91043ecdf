"""Sentences from pieces of text with their sounds, and pronunciations that the text gives itself.

What every language but English shares: how a reader's pieces become a `Sentence`, that no part of
the text is lost without being reported, and `[text](/phonemes/)`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .reading import Sentence, Word
from .tracked import Tracked

_GIVEN = re.compile(r"\[([^\[\]\n]{1,200})\]\(/([^()\n]{1,200})/\)")
_LAYOUT = re.compile(
    r"(?<!\*)\*{2,3}(?!\*)|(?<!_)_{2,3}(?!_)|`{1,3}|~~|^[ \t]*(?:#{1,6}|>)[ \t]+"
    r"|(?<![\w*])\*(?=[^\s*][^*\n]{0,200}\*(?![\w*]))|(?<=[^\s*\d])\*(?![\w*])",
    re.MULTILINE,
)
"""Marks of Markdown that lay a text out: emphasis, code, headings, quotations."""
_SAID_SIGNS = frozenset("&@#%‰§/\\*")
_RUN = re.compile(r"\S+")


class Piece(NamedTuple):
    """A part of a text and its sound; together the sounds of all pieces are the phonemes.

    A piece of no text (`start` is `end`) holds what stands between two others, mostly a space.
    """

    start: int
    end: int
    sound: str


class PieceReader:
    """A `Reader` of one sentence a segment, made from a function from text to its pieces.

    The function is called for the parts between given pronunciations. With `spaced`, these are set
    off by spaces that the text does not have: for scripts without spaces.
    """

    def __init__(self, pieces: Callable[[str], list[Piece]], spaced: bool = False) -> None:
        self._pieces = pieces
        self._space = " " if spaced else ""

    def read(self, text: str) -> list[Sentence]:
        """The sentence of a segment; see `Reader`."""
        pieces: list[Piece] = []
        at = 0
        for match in _GIVEN.finditer(text):
            pieces += self._between(text, at, match.start())
            pieces += (
                Piece(match.start(), match.start(1), self._space),
                Piece(*match.span(1), match[2]),
                Piece(match.end(1), match.end(), self._space),
            )
            at = match.end()
        pieces += self._between(text, at, len(text))
        return [assemble(text, pieces)]

    def _between(self, text: str, start: int, end: int) -> list[Piece]:
        if start == end:
            return []
        return [
            Piece(piece.start + start, piece.end + start, piece.sound)
            for piece in self._pieces(text[start:end])
        ]


def joined(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces with those that share what is written as one, such as the words of a number."""
    found: list[Piece] = []
    for piece in pieces:
        last = found[-1] if found else None
        if last is not None and piece.start < last.end and last.start < last.end:
            found[-1] = Piece(last.start, max(last.end, piece.end), last.sound + piece.sound)
        else:
            found.append(piece)
    return found


def assemble(text: str, pieces: Sequence[Piece]) -> Sentence:
    """The sentence of pieces that are in order and do not overlap.

    What is neither part of a piece with a sound, nor markup, nor white space or punctuation, is
    listed as unspoken.
    """
    phonemes = "".join(piece.sound for piece in pieces)
    offset = len(phonemes.lstrip()) - len(phonemes)
    phonemes = phonemes.strip()
    words = []
    heard = bytearray(len(text))
    for piece in pieces:
        sound = piece.sound.strip()
        if piece.start < piece.end:
            before = piece.sound.index(sound) if sound else 0
            at = min(max(offset + before, 0), len(phonemes))
            words.append(Word(text[piece.start : piece.end], sound, piece.start, piece.end, at))
            if sound:
                heard[piece.start : piece.end] = bytes([1]) * (piece.end - piece.start)
        offset += len(piece.sound)
    for match in (*_GIVEN.finditer(text), *_LAYOUT.finditer(text)):
        heard[match.start() : match.end()] = bytes([1]) * len(match[0])
    return Sentence(phonemes, tuple(words), tuple(_unspoken(text, heard)))


def without_layout(text: Tracked) -> Tracked:
    """The text without marks of Markdown, which nobody says; `assemble` does not miss them."""
    return text.sub(_LAYOUT, "")


def is_spoken(character: str) -> bool:
    """Whether leaving out a character loses something: it is no space, mark or control code."""
    category = unicodedata.category(character)
    return category[0] in "LNS" or character in _SAID_SIGNS or category in ("Co", "Cn")


def _unspoken(text: str, heard: bytearray) -> Iterable[str]:
    silent = "".join(
        " " if known else character for character, known in zip(text, heard, strict=True)
    )
    for match in _RUN.finditer(silent):
        lost = [i for i, character in enumerate(match[0]) if is_spoken(character)]
        if lost:
            yield match[0][lost[0] : lost[-1] + 1]
