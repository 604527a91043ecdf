"""What words that no lexicon has begin or end with: "reupload", "DeWitt", "DMing", "Lucas"."""

from __future__ import annotations

import re

from .tables import table
from .tagging.kinds import CLOSED, Kind

_SHORTEST = 5
_PREFIXES = {prefix: phonemes for prefix, *phonemes in table("prefixes")}
_SMALL = "|".join(prefix for prefix in _PREFIXES if prefix.islower())
_PARTICLES = "|".join(prefix for prefix in _PREFIXES if not prefix.islower())
_PREFIXED = re.compile(
    rf"(?:({_SMALL})([a-z]{{{_SHORTEST},}})|({_PARTICLES})([A-Z][^\W\d_]{{2,}})|([Ll]')([^\W\d_]{{3,}}))"
)
_LETTERS = re.compile("([A-Z]{2,5})(?:'?e?d|'?(ing))")
_SCOTTISH = re.compile("Ma?c[A-Z][a-z]+")
_LIKE_PLURAL = re.compile("[A-Z][a-z]{2,}[ai]s")
# What stands before or after several of a name: "two Hondas", "Sharmas are".
_OF_SEVERAL = frozenset({"the", "these", "those", "many", "few", "several", "all", "both", "of"})
_MANY_FOLLOW = frozenset({"are", "were", "have", "who"})


def split_prefix(word: str, british: bool) -> tuple[str, str]:
    """The phonemes of the prefix of a word, or of the particle of a name, and what follows it;
    without one both are empty."""
    match = _PREFIXED.fullmatch(word)
    if match is None:
        return "", ""
    prefix, rest = filter(None, match.groups())
    return _PREFIXES[prefix.capitalize() if prefix == "l'" else prefix][british], rest


def inflected_letters(word: str) -> tuple[str, str] | None:
    """The capitals that a verb is made of and "ed" or "ing": "OK'd", "DMing"."""
    match = _LETTERS.fullmatch(word)
    return (match[1], match[2] or "ed") if match else None


def is_scottish(word: str) -> bool:
    """Whether a name has "Mc" or "Mac" before another capital."""
    return _SCOTTISH.fullmatch(word) is not None


def is_one_name(word: str, before: str, after: str) -> bool:
    """Whether a name in "-as" or "-is" is of one: "Lucas", "Hollis", but not "two Hondas"."""
    if _LIKE_PLURAL.fullmatch(word) is None or after in _MANY_FOLLOW:
        return False
    return before not in _OF_SEVERAL and CLOSED.get(before, (None,))[0] is not Kind.NUMBER
