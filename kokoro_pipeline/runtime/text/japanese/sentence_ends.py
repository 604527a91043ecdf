"""How Japanese sentences end."""

from __future__ import annotations

from ..segments import SentenceEnds

JAPANESE = SentenceEnds(anywhere="。！？｡")
