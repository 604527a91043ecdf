"""Refuse a text that has no UTF-8.

JSON and JavaScript cut pairs of surrogates in two. Half of one is no character: no C library and no
file takes it.
"""

from __future__ import annotations

import re

from kokoro_pipeline.errors import InputError

_SURROGATE = re.compile("[\ud800-\udfff]")


def check_surrogates(text: str, start: int = 0) -> None:
    """Raises InputError for a surrogate; `start` is where the text is in the whole one."""
    if found := _SURROGATE.search(text):
        raise InputError(
            f"the text is not Unicode: U+{ord(found[0]):04X} at position {start + found.start()} "
            "is half of a character"
        )
