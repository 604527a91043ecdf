"""The model's configuration: the real `config.json` of Kokoro-82M, and constants that follow."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from .errors import InputError

SAMPLE_RATE = 24_000
"""Samples a second."""
SAMPLES_PER_FRAME = 600
"""Samples of a frame, 25 ms: upsample rates 10 and 6, hop 5, two-fold upsampling before them."""
MAX_PHONEMES = 510
"""Phonemes of one chunk: 512 positions less the two boundary tokens."""
MAX_TOKENS = 512
"""Positions that BERT knows."""
STYLE_DIM = 128
"""Width of one half of a style vector; a voice row is [decoder half, predictor half]."""
N_HARMONICS = 9
"""The fundamental and eight overtones of the harmonic source."""
HAR_FRAMES_PER_FRAME = 120
"""Columns of the source's spectrogram a frame; one more follows the last frame."""
BOUNDARY_TOKEN = 0
"""The id put before and after every chunk."""


@dataclass(frozen=True)
class ModelConfig:
    """A parsed `config.json`; `raw` is its dictionary, as `kokoro.KModel(config=…)` takes it."""

    raw: dict[str, Any]

    @property
    def vocab(self) -> dict[str, int]:
        """Phoneme symbol to token id."""
        return self.raw["vocab"]

    @property
    def n_token(self) -> int:
        """Size of the token table; ids lie in [0, n_token)."""
        return int(self.raw["n_token"])


@functools.lru_cache(maxsize=1)
def default_config() -> ModelConfig:
    """The configuration shipped with the package: Kokoro-82M v1.0."""
    text = resources.files("kokoro_pipeline").joinpath("data/config.json").read_text("utf-8")
    return ModelConfig(json.loads(text))


def load_config(path: Path | None = None) -> ModelConfig:
    """Read a `config.json`, or the shipped one without a path.

    Raises InputError where the file is missing, is no JSON or lacks `vocab` or `n_token`.
    """
    if path is None:
        return default_config()
    try:
        raw = json.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"cannot read the model configuration {path}: {error}") from error
    missing = [key for key in ("vocab", "n_token", "plbert", "istftnet") if key not in raw]
    if missing:
        raise InputError(f"{path} is no Kokoro configuration: it lacks {', '.join(missing)}")
    return ModelConfig(raw)
