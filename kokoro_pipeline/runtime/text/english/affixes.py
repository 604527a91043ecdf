"""What words that no lexicon has begin or end with: "reupload", "DMing"."""

from __future__ import annotations

import re

from .tables import table

_SHORTEST = 5
_PREFIXES = {prefix: phonemes for prefix, *phonemes in table("prefixes")}
_PREFIXED = re.compile(f"({'|'.join(_PREFIXES)})([a-z]{{{_SHORTEST},}})")
_LETTERS = re.compile("([A-Z]{2,5})(?:'?e?d|'?(ing))")


def split_prefix(word: str, british: bool) -> tuple[str, str]:
    """The phonemes of the prefix of a word and what follows it; without one both are empty."""
    match = _PREFIXED.fullmatch(word)
    return (_PREFIXES[match[1]][british], match[2]) if match else ("", "")


def inflected_letters(word: str) -> tuple[str, str] | None:
    """The capitals that a verb is made of and "ed" or "ing": "OK'd", "DMing"."""
    match = _LETTERS.fullmatch(word)
    return (match[1], match[2] or "ed") if match else None
