"""Where English sentences do not end although a point stands there."""

from __future__ import annotations

from importlib import resources

from ..segments import SentenceEnds

_ABBREVIATIONS = resources.files(__package__) / "data" / "no_sentence_end.txt"

ENGLISH = SentenceEnds(abbreviations=frozenset(_ABBREVIATIONS.read_text("utf-8").split()))
