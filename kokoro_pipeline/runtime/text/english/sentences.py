"""Where the sentences of a normalised paragraph end."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Abbreviations have lost their points, so a point before a space ends a sentence; a lower-case word
# after it shows that a quotation inside the sentence ended: “Stop!” he said.
_END = re.compile(r"[.!?…][”)]*\s+(?![a-z])")


def split_sentences(paragraph: str) -> Iterator[str]:
    """The sentences in order, without the spaces between them."""
    start = 0
    for match in _END.finditer(paragraph):
        yield paragraph[start : match.end()].rstrip()
        start = match.end()
    if start < len(paragraph):
        yield paragraph[start:]
