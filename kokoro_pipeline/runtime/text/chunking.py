"""Split a long phoneme string into chunks that the model supports.

The spans partition the input: joined in order, they reproduce it exactly. Cuts are made at the end
of a sentence; within a sentence that is longer than the limit, at the end of a clause; within a
longer clause, between words; and within a longer word, anywhere but between a symbol and its mark.
Among the allowed cuts, those are chosen that give the fewest and most even chunks. Spaces stay with
the text before them.

docs/native.md specifies the rules; the native runtime follows them too, and one table of vectors
tests both.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from kokoro_pipeline.config import MAX_PHONEMES
from kokoro_pipeline.errors import InputError

from .vocabulary import Vocabulary


class PhonemeSpan(NamedTuple):
    """A half-open range of code points of the phoneme string."""

    start: int
    end: int


class _Atom(NamedTuple):
    """A run of characters that is not cut further, and the cost of a cut before it."""

    end: int
    cut_cost: float


# Ends of pieces, from the best to the worst place to cut; the next piece starts after the match.
_CLOSERS = r"[\"”)]*"
_LEVELS = (
    re.compile(rf"[.!?…]+{_CLOSERS}(?:\s+|$)"),
    re.compile(rf"(?:[.!?…,;:—]+{_CLOSERS}|(?<=\S)[\"”)]+(?=\s))\s*"),
    re.compile(r"\s+"),
)
# The unevenness of a chunk costs at most 1, so one worse cut outweighs a few uneven chunks.
_CUT_COSTS = (0.0, 2.0, 6.0, 20.0)
_EMPTY_CHUNK_COST = 1e6

_BINDS_TO_NEXT = frozenset("ˈˌ")
_BINDS_TO_PREVIOUS = frozenset("ːʰʲᵝ")
_MARK_BLOCKS = (
    range(0x0300, 0x0370),
    range(0x1AB0, 0x1B00),
    range(0x1DC0, 0x1E00),
    range(0x20D0, 0x2100),
    range(0xFE20, 0xFE30),
)
"""Unicode's blocks of combining marks, which no version of Unicode changes."""


class _Splitter:
    """The input with running counts of the symbols that are fed to the model."""

    def __init__(self, phonemes: str, vocabulary: Vocabulary, limit: int) -> None:
        self.phonemes = phonemes
        self.limit = limit
        known = [symbol in vocabulary for symbol in phonemes]
        self.fed = list(itertools.accumulate(known, initial=0))
        speakable = (k and not symbol.isspace() for k, symbol in zip(known, phonemes, strict=True))
        self.speakable = list(itertools.accumulate(speakable, initial=0))

    def count(self, start: int, end: int) -> int:
        return self.fed[end] - self.fed[start]

    def separates_mark(self, cut: int) -> bool:
        """Whether a cut before position `cut` would separate a mark from its symbol."""
        follows = self.phonemes[cut]
        return (
            self.phonemes[cut - 1] in _BINDS_TO_NEXT
            or follows in _BINDS_TO_PREVIOUS
            or any(ord(follows) in block for block in _MARK_BLOCKS)
        )

    def atoms(self, start: int, end: int, level: int, cut_cost: float) -> Iterator[_Atom]:
        """Pieces of at most `limit` symbols, cut at `level`, or at lower levels if too long."""
        if self.count(start, end) <= self.limit:
            yield _Atom(end, cut_cost)
        elif level == len(_LEVELS):
            yield from self.hard_atoms(start, end, cut_cost)
        else:
            cuts = [
                match.end()
                for match in _LEVELS[level].finditer(self.phonemes, start, end)
                if start < match.end() < end and not self.separates_mark(match.end())
            ]
            for piece_start, piece_end in itertools.pairwise([start, *cuts, end]):
                yield from self.piece_atoms(piece_start, piece_end, level, cut_cost)
                cut_cost = _CUT_COSTS[level]

    def piece_atoms(self, start: int, end: int, level: int, cut_cost: float) -> Iterator[_Atom]:
        """Split a piece further, moving trailing spaces to the next one if only they do not fit."""
        text_end = start + len(self.phonemes[start:end].rstrip())
        too_long = self.count(start, end) > self.limit
        if too_long and start < text_end and self.count(start, text_end) <= self.limit:
            yield _Atom(text_end, cut_cost)
            yield from self.atoms(text_end, end, len(_LEVELS), _CUT_COSTS[level])
        else:
            yield from self.atoms(start, end, level + 1, cut_cost)

    def hard_atoms(self, start: int, end: int, cut_cost: float) -> Iterator[_Atom]:
        """Split a word that is too long into even pieces."""
        while (left := self.count(start, end)) > self.limit:
            pieces = -(-left // self.limit)
            wanted = -(-left // pieces)
            cut = start
            while self.count(start, cut) < wanted:
                cut += 1
            unmarked = next(
                (c for c in range(cut, start, -1) if not self.separates_mark(c)),
                cut,
            )
            yield _Atom(unmarked, cut_cost)
            start, cut_cost = unmarked, _CUT_COSTS[-1]
        yield _Atom(end, cut_cost)

    def chunk_cost(self, start: int, end: int) -> float:
        if self.speakable[end] == self.speakable[start]:
            return _EMPTY_CHUNK_COST
        rest = 1.0 - self.count(start, end) / self.limit
        return rest * rest  # `**` is the C library's, and may differ in the last bit

    def fed_atoms(self) -> list[_Atom]:
        """The atoms, where one without known symbols joins the previous; this bounds the search."""
        atoms: list[_Atom] = []
        start = 0
        for atom in self.atoms(0, len(self.phonemes), 0, 0.0):
            if atoms and self.count(start, atom.end) == 0:
                atoms[-1] = _Atom(atom.end, atoms[-1].cut_cost)
            else:
                atoms.append(atom)
            start = atom.end
        return atoms

    def spans(self) -> list[PhonemeSpan]:
        """The cheapest partition of the atoms, by dynamic programming over the last chunk."""
        atoms = self.fed_atoms()
        starts = [0, *(atom.end for atom in atoms[:-1])]
        best = [0.0]
        first_atom_of_last_chunk: list[int] = []
        for last, atom in enumerate(atoms):
            cheapest, chosen = float("inf"), last
            for first in range(last, -1, -1):
                if self.count(starts[first], atom.end) > self.limit:
                    break
                cost = best[first] + atoms[first].cut_cost
                cost += self.chunk_cost(starts[first], atom.end)
                if cost < cheapest:
                    cheapest, chosen = cost, first
            best.append(cheapest)
            first_atom_of_last_chunk.append(chosen)
        spans: list[PhonemeSpan] = []
        last = len(atoms) - 1
        while last >= 0:
            first = first_atom_of_last_chunk[last]
            spans.append(PhonemeSpan(starts[first], atoms[last].end))
            last = first - 1
        return spans[::-1]


def split_phonemes(
    phonemes: str, vocabulary: Vocabulary, limit: int = MAX_PHONEMES
) -> list[PhonemeSpan]:
    """Spans that partition `phonemes`, each with at most `limit` symbols of the vocabulary.

    Symbols outside the vocabulary are neither fed to the model nor counted. No span consists only
    of such symbols unless the whole input does, and none consists only of spaces unless its
    neighbours are full. Empty input has no spans; input that fits is a single span. The running
    time is linear in the length of the input.

    Raises InputError for a limit below 1.
    """
    if limit < 1:
        raise InputError(f"a chunk must hold at least one phoneme, not {limit}")
    if not phonemes:
        return []
    if sum(symbol in vocabulary for symbol in phonemes) <= limit:
        return [PhonemeSpan(0, len(phonemes))]
    return _Splitter(phonemes, vocabulary, limit).spans()
