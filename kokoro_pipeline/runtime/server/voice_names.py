"""Voices as clients of other servers name them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from kokoro_pipeline.errors import InputError

from ..voices import check_voice

OPENAI_VOICES = {
    "alloy": "af_alloy",
    "ash": "am_adam",
    "ballad": "bm_george",
    "cedar": "am_michael",
    "coral": "af_bella",
    "echo": "am_echo",
    "fable": "bm_fable",
    "marin": "af_heart",
    "nova": "af_nova",
    "onyx": "am_onyx",
    "sage": "af_sarah",
    "shimmer": "af_sky",
    "verse": "bm_daniel",
}
"""The voices that answer to OpenAI's names; where an artifact lacks one, the nearest it has."""

_PART = re.compile(r"\s*([A-Za-z0-9_]+)\s*(?:\(\s*([0-9.]+)\s*\)|:\s*([0-9.]+))?\s*")


def resolve_voice(text: str, known: Sequence[str]) -> str:
    """A voice or blend of `known` voices, as `Synthesizer` takes it.

    Blends are written "af_bella:2,af_sky" or, as in Kokoro-FastAPI, "af_bella(2)+af_sky". Nothing
    else is accepted, so that no path of a request is ever opened.

    Raises InputError, which lists similar names, also for weights that make no sense.
    """
    parts: list[tuple[str, str | None]] = []
    for part in re.split(r"[+,]", text):
        match = _PART.fullmatch(part)
        if match is None:
            raise InputError(
                f"voice {text[:80]!r} is neither a name nor a blend such as af_bella(2)+af_sky(1)"
            )
        name = _known(match[1], known)
        parts.append((name, match[2] or match[3]))
    weighted = any(weight is not None for _, weight in parts)
    voice = ",".join(f"{name}:{weight or 1}" if weighted else name for name, weight in parts)
    check_voice(voice)
    return voice


def _known(name: str, known: Sequence[str]) -> str:
    if name in known:
        return name
    if known and (alias := OPENAI_VOICES.get(name)):
        # A name is a letter of the language, one of the gender, and the rest: "af_alloy".
        return min(known, key=lambda v: (v != alias, v[1:2] != alias[1], v[0] != alias[0], v))
    near = difflib.get_close_matches(name.lower(), known, 3, 0.5) or sorted(known)[:5]
    raise InputError(f"there is no voice {name!r}; near: {', '.join(near)}")
