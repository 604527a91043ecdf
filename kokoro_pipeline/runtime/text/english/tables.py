"""The word lists of English, which are data files beside this module."""

from __future__ import annotations

from functools import cache
from importlib import resources

_FOLDER = resources.files(__package__) / "data"


@cache
def table(name: str) -> tuple[tuple[str, ...], ...]:
    """The rows of the file `name`.tsv, without blank lines and comments."""
    lines = (_FOLDER / f"{name}.tsv").read_text("utf-8").splitlines()
    return tuple(tuple(line.split("\t")) for line in lines if line and not line.startswith("# "))


def pairs(name: str) -> dict[str, str]:
    """The second column of a file with two by its first."""
    return {row[0]: row[1] for row in table(name)}


@cache
def word_sets(name: str) -> dict[str, frozenset[str]]:
    """The sets of words of a file with rows of a name and words; rows of one name are joined."""
    sets: dict[str, set[str]] = {}
    for key, words in table(name):
        sets.setdefault(key, set()).update(words.split())
    return {key: frozenset(words) for key, words in sets.items()}
