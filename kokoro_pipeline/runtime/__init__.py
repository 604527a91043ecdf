"""The running half: an artifact's functions on numpy arrays, and speech from phonemes or text.

Imports numpy, packaging and tvm_ffi; never torch, nor the `tvm` package.
"""

from __future__ import annotations

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
