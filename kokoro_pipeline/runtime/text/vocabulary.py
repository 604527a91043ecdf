"""Phoneme symbols and their token ids.

A symbol is one code point, exactly as in kokoro (`vocab.get(character)`): the combining tilde
U+0303 is a separate symbol, and the script g (U+0261) is a symbol while the Latin g is not.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

SILENT_MARKS = frozenset("¿¡[]{}«»·‘’～\u00a0\u202f\u0329\u032a")
"""Marks, spaces and diacritics that readers pass on as kokoro's do, without a symbol of the model.

Leaving them out loses nothing, so they are not reported. They count in the length that chooses a
voice's row, as in kokoro."""


@dataclass(frozen=True)
class UnknownSymbol:
    """A code point of the input that has no token id and is not fed to the model."""

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
        # Do not print combining marks and control characters, which would garble the line.
        visible = self.symbol.isprintable() and not unicodedata.combining(self.symbol)
        shown = f"'{self.symbol}' " if visible else ""
        return f"{shown}U+{self.codepoint:04X} ({self.name}) at {self.position}"


@dataclass(frozen=True)
class Encoded:
    """The ids of the known symbols in order, without boundary tokens, and the unknown symbols but
    for `SILENT_MARKS`."""

    ids: tuple[int, ...]
    positions: tuple[int, ...]
    """Where the symbol of each id is: an index into the phoneme string, in code points."""
    unknown: tuple[UnknownSymbol, ...]


class Vocabulary:
    """Maps single code points to token ids."""

    def __init__(self, mapping: Mapping[str, int]) -> None:
        """`mapping` is the `vocab` of a configuration.

        Raises ValueError for a key of more than one code point.
        """
        longer = sorted(symbol for symbol in mapping if len(symbol) != 1)
        if longer:
            raise ValueError(f"vocabulary symbols must be single code points, not {longer!r}")
        self._ids = dict(mapping)

    def __contains__(self, symbol: object) -> bool:
        return symbol in self._ids

    def __len__(self) -> int:
        return len(self._ids)

    def encode(self, phonemes: str) -> Encoded:
        """Look up every code point; each is added to `ids` or `unknown`, in order, unless it is
        silent."""
        ids: list[int] = []
        positions: list[int] = []
        unknown: list[UnknownSymbol] = []
        for position, symbol in enumerate(phonemes):
            token = self._ids.get(symbol)
            if token is not None:
                ids.append(token)
                positions.append(position)
            elif symbol not in SILENT_MARKS:
                unknown.append(UnknownSymbol(symbol, position))
        return Encoded(tuple(ids), tuple(positions), tuple(unknown))


def has_sound(phonemes: str) -> bool:
    """Whether phonemes are more than marks, spaces, stress and length."""
    return any(unicodedata.category(symbol) in ("Ll", "Lu", "Lo") for symbol in phonemes)
