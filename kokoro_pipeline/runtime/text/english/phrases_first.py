"""Rewrite what later rules would misread, before addresses, capitals and abbreviations."""

from __future__ import annotations

from ..tracked import Tracked
from .road_signs import ROADS
from .signed import SIGNED


def rewrite(text: Tracked) -> Tracked:
    """Write signs and roads as the other rules know them."""
    for pattern, words in (*SIGNED, *ROADS):
        text = text.sub(pattern, words)
    return text
