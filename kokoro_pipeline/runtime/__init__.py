"""The running half: an artifact's functions on numpy arrays, and speech from phonemes or text.

Imports numpy, packaging and tvm_ffi; never torch, nor the `tvm` package. Its names are loaded when
they are first used: text is read without numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .speech.result import (
        IgnoredMarkupWarning,
        Speech,
        UnknownSymbolWarning,
        UnspokenTextWarning,
    )
    from .speech.spans import ChunkSpans, Span
    from .speech.streaming import SpeechStream
    from .speech.synthesizer import Synthesizer, load
    from .speech.timings import MarkTime, PhonemeTime, WordTime

__all__ = [
    "ChunkSpans",
    "IgnoredMarkupWarning",
    "MarkTime",
    "PhonemeTime",
    "Span",
    "Speech",
    "SpeechStream",
    "Synthesizer",
    "UnknownSymbolWarning",
    "UnspokenTextWarning",
    "WordTime",
    "load",
]

_MODULES = {
    "ChunkSpans": "spans",
    "IgnoredMarkupWarning": "result",
    "MarkTime": "timings",
    "PhonemeTime": "timings",
    "Span": "spans",
    "Speech": "result",
    "SpeechStream": "streaming",
    "Synthesizer": "synthesizer",
    "UnknownSymbolWarning": "result",
    "UnspokenTextWarning": "result",
    "WordTime": "timings",
    "load": "synthesizer",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".speech.{_MODULES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
