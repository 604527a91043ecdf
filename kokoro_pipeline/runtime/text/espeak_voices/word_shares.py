"""Which word of a clause became which of its phonemes.

eSpeak reads a clause as a whole: it joins small words ("de la"), carries sounds over ("les amis")
and spells numbers as several words. Each word read alone shows what to look for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_STRESS = "ˈˌ"


class Share(NamedTuple):
    """The words from `first` to `last`, both included, and their phonemes in the clause."""

    first: int
    last: int
    phonemes: str
    """With the spaces around them: joined in order, all shares give the clause."""


def share(alone: Sequence[str], clause: str) -> list[Share]:
    """Divide the phonemes of a clause among its words, given the phonemes of each word alone.

    Words that are heard alone but cannot be told apart in the clause share their phonemes; a word
    that is not heard alone can have none. The time is linear if the clause has as many phoneme
    words as its words have alone, and otherwise the product of the lengths, at 15 ns each.
    """
    counts = [len(word.split()) for word in alone]
    ends = _word_ends(clause)
    alike = sum(counts) == len(ends)
    cuts = _by_count(counts, ends) if alike else _by_likeness(alone, clause)
    shares: list[Share] = []
    start = 0
    for i, end in enumerate(cuts):
        phonemes = clause[start:end]
        if shares and not phonemes.strip() and alone[i]:
            last = shares.pop()  # heard alone, but no sound is left for it
            shares.append(Share(last.first, i, last.phonemes + phonemes))
        else:
            shares.append(Share(i, i, phonemes))
        start = end
    return _with_sound(shares, alone)


def _with_sound(shares: list[Share], alone: Sequence[str]) -> list[Share]:
    """Join a soundless beginning with the word after it, if it is heard alone."""
    if len(shares) > 1 and not shares[0].phonemes.strip() and alone[0]:
        first, second = shares[:2]
        return [Share(0, second.last, first.phonemes + second.phonemes), *shares[2:]]
    return shares


def _word_ends(clause: str) -> list[int]:
    """Where the phoneme words end, with the spaces after them."""
    ends = [i for i in range(1, len(clause)) if clause[i - 1] == " " != clause[i]]
    return [*ends, len(clause)] if clause.strip() else []


def _by_count(counts: Sequence[int], ends: Sequence[int]) -> list[int]:
    cuts, used = [], 0
    for count in counts:
        used += count
        cuts.append(ends[used - 1] if used else 0)
    return cuts


def _by_likeness(alone: Sequence[str], clause: str) -> list[int]:
    """Cut where the phonemes of the words alone, in order, become those of the clause by the
    fewest insertions, deletions and substitutions.

    The border of two words is at a space or, at a cost, between two phonemes; stress counts little.
    """
    said = "\n".join(alone)
    heard = np.array(list(clause), "U1")
    costs = np.array([_cost(symbol) for symbol in clause])
    # All costs are multiples of a quarter, so that sums and differences are exact.
    inserted = np.concatenate([[0.0], np.cumsum(costs)])
    swaps = {symbol: _swaps(symbol, heard, costs) for symbol in set(said)}
    rows = np.empty((len(said) + 1, len(clause) + 1))
    rows[0] = inserted
    for above, row, symbol in zip(rows, rows[1:], said, strict=False):
        row[:] = above + (0.5 if symbol == "\n" else _cost(symbol))
        np.minimum(row[1:], above[:-1] + swaps[symbol], out=row[1:])
        # The least of row[k] plus what lies between k and j, for every k up to j.
        row[:] = np.minimum.accumulate(row - inserted) + inserted
    return _trace(said, clause, rows)


def _swaps(symbol: str, heard: NDArray[np.str_], costs: Floats) -> Floats:
    """What it costs to hear each phoneme of a clause in the place of a symbol."""
    if symbol in "\n ":
        return np.where(heard == " ", 0.0, np.inf)
    other = np.where(heard == " ", np.inf, np.maximum(costs, _cost(symbol)))
    return np.where(heard == symbol, 0.0, other)


def _trace(said: str, clause: str, rows: Floats) -> list[int]:
    cuts: list[int] = []
    i, j = len(said), len(clause)
    while i or j:
        symbol = said[i - 1] if i else ""
        skip = 0.5 if symbol == "\n" else _cost(symbol)
        if i and rows[i][j] == rows[i - 1][j] + skip:
            if symbol == "\n":
                cuts.append(j)
            i -= 1
        elif j and rows[i][j] == rows[i][j - 1] + _cost(clause[j - 1]):
            j -= 1
        else:
            if symbol == "\n":
                cuts.append(j)  # the space stays with the word before it
            i, j = i - 1, j - 1
    return [*reversed(cuts), len(clause)]


def _cost(symbol: str) -> float:
    return 0.25 if symbol in _STRESS else 1.0
