"""Phoneme symbols and the ids that the model reads.

One symbol is one code point, exactly as kokoro does it (`vocab.get(character)`): the combining
tilde U+0303 is a symbol of its own, and the script g (U+0261) is one while the Latin g is not.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class UnknownSymbol:
    """A code point of the input that the model has no id for, so it is not fed to the model."""

    symbol: str
    position: int
    """Index into the phoneme string, in code points."""

    @property
    def codepoint(self) -> int:
        """The Unicode scalar value."""
        return ord(self.symbol)

    @property
    def name(self) -> str:
        """The Unicode name in lower case, or the general category of a code point without one."""
        category = unicodedata.category(self.symbol)
        return unicodedata.name(self.symbol, f"unnamed character of category {category}").lower()

    def __str__(self) -> str:
        # A combining mark or a control character would disturb the line it is printed on.
        visible = self.symbol.isprintable() and not unicodedata.combining(self.symbol)
        shown = f"'{self.symbol}' " if visible else ""
        return f"{shown}U+{self.codepoint:04X} ({self.name}) at {self.position}"


@dataclass(frozen=True)
class Encoded:
    """Ids of the known symbols in order, without boundary tokens, and every symbol without id."""

    ids: tuple[int, ...]
    unknown: tuple[UnknownSymbol, ...]


class Vocabulary:
    """Maps single code points to token ids."""

    def __init__(self, mapping: Mapping[str, int]) -> None:
        """`mapping` is a configuration's `vocab`. Raises ValueError for a longer key."""
        longer = sorted(symbol for symbol in mapping if len(symbol) != 1)
        if longer:
            raise ValueError(f"vocabulary symbols must be single code points, not {longer!r}")
        self._ids = dict(mapping)

    def __contains__(self, symbol: object) -> bool:
        return symbol in self._ids

    def __len__(self) -> int:
        return len(self._ids)

    def encode(self, phonemes: str) -> Encoded:
        """Look every code point up; each ends in `ids` or in `unknown`, in the input's order."""
        ids: list[int] = []
        unknown: list[UnknownSymbol] = []
        for position, symbol in enumerate(phonemes):
            token = self._ids.get(symbol)
            if token is None:
                unknown.append(UnknownSymbol(symbol, position))
            else:
                ids.append(token)
        return Encoded(tuple(ids), tuple(unknown))
