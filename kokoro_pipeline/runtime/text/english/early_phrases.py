"""Phrases that are expanded before addresses, capitals and abbreviations would misread them."""

from __future__ import annotations

from ..tracked import Tracked
from .counters import COUNTERS
from .short_forms import SHORT_FORMS
from .signed import SIGNED
from .street_names import ROADS
from .terminals import TERMINALS


def expand_early(text: Tracked) -> Tracked:
    """Write signs, roads, counters and short forms as the other rules know them."""
    for pattern, words in (*TERMINALS, *SHORT_FORMS, *SIGNED, *COUNTERS, *ROADS):
        text = text.sub(pattern, words)
    return text
