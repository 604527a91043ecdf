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

    Raises InputError if the file cannot be read, is not JSON, or lacks a required key.
    """
    if path is None:
        return default_config()
    try:
        raw = json.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"cannot read the model configuration {path}: {error}") from error
    missing = [key for key in ("vocab", "n_token", "plbert", "istftnet") if key not in raw]
    if missing:
        raise InputError(f"{path} is not a Kokoro configuration: it lacks {', '.join(missing)}")
    return ModelConfig(raw)
