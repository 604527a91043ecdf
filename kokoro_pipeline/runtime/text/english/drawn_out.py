"""Words with letters that are written more than once for emphasis: "soooo", "he-e-elp"."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

_DRAWN_OUT = re.compile(r"([a-z])\1{2,}", re.IGNORECASE)
# A letter between hyphens, or after one at the end, that stands before the hyphen as well.
_APART = re.compile(r"(?<=[A-Za-z])([A-Za-z])-(?:(?:\1-)+(?=\1)|(?<=[a-z]-)\1$)")
# In capitals fewer are letters that stand for words: "AAA", "IEEE".
_SHOUTED = re.compile(r"([A-Z])\1{3,}")
_MOST_RUNS = 3


def joined(word: str) -> str:
    """The word with what is drawn out by hyphens as repeated letters: "heeeeelp" of "he-e-elp"."""
    return _APART.sub(lambda match: match[1] * (len(match[0]) + 1), word)


def shortened(word: str) -> Iterator[str]:
    """The spellings of a drawn-out word with three, two and one of each repeated letter.

    There is none if no letter is repeated that often, or too many are.
    """
    if word.isupper() and (len(set(word)) < 2 or not _SHOUTED.search(word)):
        return
    parts = _DRAWN_OUT.split(word)
    letters = parts[1::2]
    if not letters or len(letters) > _MOST_RUNS:
        return
    for counts in itertools.product((3, 2, 1), repeat=len(letters)):
        runs = (letter * count for letter, count in zip(letters, counts, strict=True))
        yield "".join(itertools.chain(*zip(parts[::2], [*runs, ""], strict=True)))
