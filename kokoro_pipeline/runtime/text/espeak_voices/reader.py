"""Read Spanish, French, Hindi, Italian and Brazilian Portuguese as kokoro does by misaki's
`EspeakG2P`.

What eSpeak would misread is written out first (`normalize.py`). misaki hands a whole text to
phonemizer, which cuts it at punctuation, has each clause read by eSpeak, and puts the marks back.
Here the same is done clause by clause, so that it is known what every word became. eSpeak is
licensed under the GPL; see `espeak.py`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator

from ..espeak import ClauseReader, clause_reader
from ..pieces import Piece, PieceReader, without_layout
from ..reading import Reader
from ..tracked import Tracked
from .normalize import normalizer
from .word_shares import share

_VOICES = {"es": "es", "fr": "fr-fr", "hi": "hi", "it": "it", "pt-br": "pt-br"}

# phonemizer's marks, with the white space around them.
_MARKS = re.compile(r'\s*[;:,.!?¡¿—…"«»“”(){}\[\]][;:,.!?¡¿—…"«»“”(){}\[\]\s]*')
# misaki keeps the parentheses from eSpeak, and has curly quotation marks for angular ones.
_SPELLED = {"«": "“", "»": "”"}
_DANDAS = "।॥"
_WORD = re.compile(rf"[^\s{_DANDAS}]+|[{_DANDAS}]+")
# NUL ends a string of the C library, which would lose the rest of the clause.
_ODD_SPACE = re.compile(r"[^\S \u00a0\u202f]|\0")
_STRESS = re.compile("[ˈˌ ]")
_HELD = 900
"""Phonemes and ends of words that eSpeak surely holds: it drops what is over 1,000 of a clause."""
# The model has no symbol for the retroflex l of Marathi words in Hindi.
_NEAREST = str.maketrans("ɭ", "l")


@functools.cache
def load_reader(code: str) -> Reader:
    """The reader of one of these languages.

    Raises EnvironmentFault if the `text` extra is not installed, or eSpeak does not start.
    """
    read = clause_reader(_VOICES[code])
    normalize = normalizer(code)

    def pieces(text: str) -> list[Piece]:
        written_out = normalize(without_layout(Tracked.of(text)))
        return _placed(written_out, _pieces(written_out.text, read))

    return PieceReader(pieces)


def _pieces(text: str, read: ClauseReader) -> Iterator[Piece]:
    text = _ODD_SPACE.sub(" ", text)
    at = 0
    for match in _MARKS.finditer(text):
        yield from _clause(text[at : match.start()], at, read)
        for position in range(*match.span()):
            mark = text[position]
            end = position if mark.isspace() else position + 1
            yield Piece(position, end, _SPELLED.get(mark, mark))
        at = match.end()
    yield from _clause(text[at:], at, read)


def _clause(clause: str, start: int, read: ClauseReader) -> Iterator[Piece]:
    """The pieces of words between two marks, which begin at `start`."""
    spoken = clause.strip()
    if not spoken:
        yield Piece(start, start, clause)
        return
    leading = len(clause) - len(clause.lstrip())
    yield Piece(start, start, clause[:leading])
    words = list(_WORD.finditer(clause))
    alone = ["" if word[0][0] in _DANDAS else read(word[0]) for word in words]
    for part in _held(len(spoken), alone):
        within = words[part]
        begin, end = within[0].start(), within[-1].end()
        if part.start:
            yield Piece(start + begin, start + begin, " ")
        for each in share(alone[part], read(clause[begin:end]).translate(_NEAREST)):
            first, last = within[each.first], within[each.last]
            yield Piece(start + first.start(), start + last.end(), each.phonemes)
    yield Piece(start, start, clause[leading + len(spoken) :])


def _held(characters: int, alone: list[str]) -> list[slice]:
    """The parts of a clause, given the phonemes of its words alone, that eSpeak reads to the end.

    Prose is one part: eSpeak cuts it after 800 characters by itself, and these have fewer phonemes
    than it holds. Words that are spelled and numbers can have more phonemes than characters.
    """
    sizes = [len(_STRESS.sub("", word)) + 1 for word in alone]
    total = sum(sizes)
    if total <= max(_HELD, characters):
        return [slice(0, len(alone))]
    cuts, size = [0], 0
    for i, each in enumerate(sizes):
        size += each
        if size > _HELD and i > cuts[-1]:
            cuts.append(i)
            size = each
    return [slice(first, last) for first, last in zip(cuts, [*cuts[1:], len(alone)], strict=True)]


def _placed(text: Tracked, pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces of a text that was written out, at what they stand for in the original.

    Those that share a part of it are one, with what is between them.
    """
    placed: list[Piece] = []
    said = -1  # the last piece with a part of the text
    for piece in pieces:
        start, end = text.span(piece.start, piece.end)
        if start < end and said >= 0 and start < placed[said].end:
            sound = "".join(each.sound for each in placed[said:]) + piece.sound
            placed[said:] = [Piece(placed[said].start, max(placed[said].end, end), sound)]
            continue
        if start < end:
            said = len(placed)
        elif not piece.sound:
            continue
        placed.append(Piece(start, end, piece.sound))
    return placed
