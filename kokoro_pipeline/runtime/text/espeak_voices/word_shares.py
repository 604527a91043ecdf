"""Which word of a clause became which of its phonemes.

eSpeak reads a clause as a whole: it joins small words ("de la"), carries sounds over ("les amis")
and spells numbers as several words. Each word read alone shows what to look for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
    words as its words have alone, and quadratic otherwise.
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
    rows = [[0.0]]
    for symbol in clause:
        rows[0].append(rows[0][-1] + _cost(symbol))
    for symbol in said:
        above = rows[-1]
        skip = 0.5 if symbol == "\n" else _cost(symbol)
        row = [above[0] + skip]
        for j, heard in enumerate(clause):
            if symbol == heard or (symbol == "\n" and heard == " "):
                swap = above[j]
            elif symbol == "\n" or heard == " " or symbol == " ":
                swap = float("inf")
            else:
                swap = above[j] + max(_cost(symbol), _cost(heard))
            row.append(min(swap, above[j + 1] + skip, row[j] + _cost(heard)))
        rows.append(row)
    return _trace(said, clause, rows)


def _trace(said: str, clause: str, rows: list[list[float]]) -> list[int]:
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
