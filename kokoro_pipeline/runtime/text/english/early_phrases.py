"""Phrases that are expanded before addresses, capitals and abbreviations would misread them."""

from __future__ import annotations

import re

from ..tracked import Tracked
from .counters import COUNTERS
from .inches import INCHES_IN_BRACKETS
from .metar import METAR
from .old_money import OLD_MONEY
from .rules import Phrase
from .scripture import CHAPTERS
from .short_forms import SHORT_FORMS
from .signed import SIGNED
from .street_names import ROADS
from .terminals import TERMINALS

_ET_CETERA: Phrase = (re.compile(r"(?<!\w)&c\b(?!\.[a-z])"), "etc")


def expand_early(text: Tracked) -> Tracked:
    """Write signs, roads, counters and short forms as the other rules know them."""
    for pattern, words in (
        _ET_CETERA,
        *METAR,
        *TERMINALS,
        *OLD_MONEY,
        *CHAPTERS,
        *SHORT_FORMS,
        *SIGNED,
        *INCHES_IN_BRACKETS,
        *COUNTERS,
        *ROADS,
    ):
        text = text.sub(pattern, words)
    return text
