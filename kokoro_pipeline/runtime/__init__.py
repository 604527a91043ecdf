"""The running half: an artifact's functions on numpy arrays, and speech from phonemes or text.

Imports numpy, packaging and tvm_ffi; never torch, nor the `tvm` package. Its names are loaded when
they are first used: text is read without numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .speech.result import ChunkSpans, Span, Speech, UnknownSymbolWarning, UnspokenTextWarning
    from .speech.synthesizer import Synthesizer, load

__all__ = [
    "ChunkSpans",
    "Span",
    "Speech",
    "Synthesizer",
    "UnknownSymbolWarning",
    "UnspokenTextWarning",
    "load",
]

_SYNTHESIZER = ("Synthesizer", "load")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = ".speech.synthesizer" if name in _SYNTHESIZER else ".speech.result"
    return getattr(importlib.import_module(module, __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
