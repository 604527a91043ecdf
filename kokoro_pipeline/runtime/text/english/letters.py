"""Letters that are read by their names."""

from __future__ import annotations

import re

from ..tracked import Piece

LETTER_A = "\ue001"
"""Stands in the normalised text for the name of the letter A, which "a" would not be read as."""


def letter_name(letter: str) -> str:
    return LETTER_A if letter in "aA" else letter


def letter_piece(match: re.Match[str], group: int) -> Piece:
    return Piece(letter_name(match[group]), *match.span(group))
