"""Kokoro-82M through Apache TVM: build an artifact with PyTorch, run it without.

The running half only needs numpy and the TVM runtime::

    import kokoro_pipeline
    tts = kokoro_pipeline.load("kokoro")
    speech = tts.synthesize("həlˈoʊ wˈɜːld", voice="af_heart", speed=1.0, seed=0)
    speech.audio        # float32 [600 * frames], 24 kHz

The building half (`build`, `validate`) imports torch, kokoro and the TVM compiler when it is called
and not before.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .errors import ArtifactError, CheckFailed, EnvironmentFault, InputError, KokoroError
from .version import __version__

if TYPE_CHECKING:
    from .building.builder import build
    from .runtime import Speech, Synthesizer, load
    from .validation import validate

__all__ = [
    "ArtifactError",
    "CheckFailed",
    "EnvironmentFault",
    "InputError",
    "KokoroError",
    "Speech",
    "Synthesizer",
    "__version__",
    "build",
    "load",
    "validate",
]

# Public names that are imported lazily, so that running does not import the building half.
_LAZY = {
    "Speech": ".runtime",
    "Synthesizer": ".runtime",
    "load": ".runtime",
    "build": ".building.builder",
    "validate": ".validation",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name], __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
