"""Refuse a text that has no UTF-8.

JSON and JavaScript cut pairs of surrogates in two. Half of one is no character: no C library and no
file takes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kokoro_pipeline.errors import InputError

_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def with_whole_pairs(strings: Iterable[str]) -> Iterator[str]:
    """The strings of a text, where a character whose halves are in two of them is in the second."""
    half = ""
    for string in strings:
        string = half + string
        half = string[-1:] if "\ud800" <= string[-1:] <= "\udbff" else ""
        yield _PAIR.sub(_character, string[: len(string) - len(half)])
    if half:
        yield half


def _character(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16")


def check_surrogates(text: str, start: int = 0) -> None:
    """Raises InputError for a surrogate; `start` is where the text is in the whole one."""
    if found := _SURROGATE.search(text):
        raise InputError(
            f"the text is not Unicode: U+{ord(found[0]):04X} at position {start + found.start()} "
            "is half of a character"
        )
