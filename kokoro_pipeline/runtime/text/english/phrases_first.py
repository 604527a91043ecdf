"""Rewrite what later rules would misread, before addresses, capitals and abbreviations."""

from __future__ import annotations

from ..tracked import Tracked
from .counters import COUNTERS
from .road_signs import ROADS
from .short_forms import SHORT_FORMS
from .signed import SIGNED


def rewrite(text: Tracked) -> Tracked:
    """Write signs, roads, counters and short forms as the other rules know them."""
    for pattern, words in (*SHORT_FORMS, *SIGNED, *COUNTERS, *ROADS):
        text = text.sub(pattern, words)
    return text
