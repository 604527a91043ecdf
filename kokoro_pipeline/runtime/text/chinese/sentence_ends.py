"""How Chinese sentences end."""

from __future__ import annotations

from ..segments import SentenceEnds

CHINESE = SentenceEnds(anywhere="。！？｡")
