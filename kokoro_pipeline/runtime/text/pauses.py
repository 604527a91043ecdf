"""How long a pause is, in SSML and in plain text."""

from __future__ import annotations

import re

from kokoro_pipeline.errors import InputError

LONGEST_PAUSE = 60.0
"""In seconds."""

PAUSE = re.compile(r"\[pause\s+(\d[^\[\]\n]{0,40})\](?!\()")
"""A pause in plain text: `[pause 500ms]`, `[pause 1.5s]`."""

_TIME = re.compile(r"\+?(\d{1,12}(?:\.\d{1,9})?|\.\d{1,9})\s*(ms|s)")


def seconds(text: str) -> float:
    """The seconds of a duration such as "500ms" or "1.5s".

    Raises InputError for another form, and for more than `LONGEST_PAUSE`.
    """
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise InputError(f"{text!r} is not a duration: write 500ms or 1.5s")
    value = float(match[1]) / (1000.0 if match[2] == "ms" else 1.0)
    if value > LONGEST_PAUSE:
        raise InputError(f"a pause of {text.strip()} is longer than {LONGEST_PAUSE:.0f} s")
    return value
