"""Split a normalised paragraph into sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..tracked import Tracked

# The points of abbreviations are already removed, so a point before a space ends a sentence, unless
# a lower-case word follows a quotation inside the sentence: “Stop!” he said.
_END = re.compile(r"[.!?…][”)]*\s+(?![a-z])")


def split_sentences(paragraph: Tracked) -> Iterator[Tracked]:
    """The sentences in order, without the spaces between them."""
    start = 0
    for match in _END.finditer(paragraph.text):
        yield paragraph[start : match.end()].strip()
        start = match.end()
    if start < len(paragraph):
        yield paragraph[start:]
