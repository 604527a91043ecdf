"""Where English sentences do not end although a point stands there."""

from __future__ import annotations

from ..segments import SentenceEnds
from .tables import table, word_sets

ENGLISH = SentenceEnds(
    abbreviations=frozenset(short.lower() for _, short, _ in table("abbreviations"))
    | word_sets("pointed_units")["unit"]
    | {short.lower() for book, words in table("bible") if book.istitle() for short in words.split()}
    | word_sets("pointed_words")["word"]
    | {f"{shillings}s" for shillings in range(1, 20)}  # "7s. 6d."
    | {f"{pounds}l" for pounds in range(1, 100)}  # "5l. 10s."
)
"""A segment is not cut after an abbreviation; whether its point ends a sentence is seen later."""
