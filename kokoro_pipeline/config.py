"""The model's configuration: the `config.json` of Kokoro-82M, and constants derived from it."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from .errors import InputError

SAMPLE_RATE = 24_000
"""Samples per second."""
SAMPLES_PER_FRAME = 600
"""Samples per frame of 25 ms: 2-fold upsampling, upsample rates 10 and 6, and a hop of 5."""
MAX_PHONEMES = 510
"""Phonemes per chunk: 512 positions minus the two boundary tokens."""
MAX_TOKENS = 512
"""Number of positions that BERT supports."""
STYLE_DIM = 128
"""Width of one half of a style vector; a row of a voice is [decoder half, predictor half]."""
N_HARMONICS = 9
"""Harmonics of the source: the fundamental and eight overtones."""
HAR_FRAMES_PER_FRAME = 120
"""Columns of the source's spectrogram per frame; one more follows the last frame."""
BOUNDARY_TOKEN = 0
"""The token id that is put before and after every chunk."""


@dataclass(frozen=True)
class ModelConfig:
    """A parsed `config.json`; `raw` is the dictionary that `kokoro.KModel(config=…)` takes."""

    raw: dict[str, Any]

    @property
    def vocab(self) -> dict[str, int]:
        """Token ids by phoneme symbol."""
        return self.raw["vocab"]

    @property
    def n_token(self) -> int:
        """Size of the token table; ids are in [0, n_token)."""
        return int(self.raw["n_token"])


@functools.lru_cache(maxsize=1)
def default_config() -> ModelConfig:
    """The configuration shipped with the package: Kokoro-82M v1.0."""
    text = resources.files("kokoro_pipeline").joinpath("data/config.json").read_text("utf-8")
    return ModelConfig(json.loads(text))


def load_config(path: Path | None = None) -> ModelConfig:
    """Read a `config.json`, or the one shipped with the package if no path is given.

    Raises InputError if the file cannot be read, is not JSON, lacks a required key, or has a
    vocabulary that the token table does not hold.
    """
    if path is None:
        return default_config()
    try:
        raw = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot read the model configuration {path}: {error}") from error
    if not isinstance(raw, dict):
        raise InputError(f"{path} is not a Kokoro configuration: it is no JSON object")
    missing = [key for key in ("vocab", "n_token", "plbert", "istftnet") if key not in raw]
    if missing:
        raise InputError(f"{path} is not a Kokoro configuration: it lacks {', '.join(missing)}")
    wrong = _what_is_wrong(raw)
    if wrong:
        raise InputError(f"{path} is not a Kokoro configuration, or is damaged: {wrong}")
    return ModelConfig(raw)


def _what_is_wrong(raw: dict[str, Any]) -> str | None:
    """What a configuration with all keys has of another form, if anything."""
    for key in ("vocab", "plbert", "istftnet"):
        if not isinstance(raw[key], dict):
            return f"{key} is {type(raw[key]).__name__}, expected an object"
    size = raw["n_token"]
    if type(size) is not int or size < 1:
        return f"n_token is {size!r:.40}, expected a whole number above 0"
    for symbol, token in raw["vocab"].items():
        if len(symbol) != 1:
            return f"the symbol {symbol!r:.40} of vocab is not one character"
        if type(token) is not int or not 0 <= token < size:
            return f"vocab has {token!r:.40} for {symbol!r}, expected a whole number below {size}"
    return None
