"""The common input of all contenders as a file: tokens, style, frames and noise."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kokoro_pipeline.config import SAMPLE_RATE, SAMPLES_PER_FRAME


@dataclass(frozen=True, eq=False)
class Case:
    """One chunk of n tokens and t frames."""

    input_ids: NDArray[np.int64]
    """[1, n], including boundary tokens."""
    style: NDArray[np.float32]
    """[1, 256]."""
    frames: NDArray[np.int64]
    """[n], with sum t: the length of each token, used instead of a contender's prediction."""
    noise: NDArray[np.float32]
    """[1, 600 t, 9]."""

    @property
    def total_frames(self) -> int:
        """The number of frames, t."""
        return int(self.frames.sum())

    @property
    def seconds(self) -> float:
        """Length of the audio in seconds."""
        return self.total_frames * SAMPLES_PER_FRAME / SAMPLE_RATE

    @property
    def symbols(self) -> dict[str, int]:
        """The values of the symbolic sizes of the functions."""
        return {"B": 1, "n": self.input_ids.shape[1], "t": self.total_frames}


def save_case(path: Path, case: Case) -> None:
    """Write a case as .npz."""
    np.savez(path, **{field.name: getattr(case, field.name) for field in fields(case)})


def load_case(path: Path) -> Case:
    """Read what `save_case` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        return Case(**{field.name: arrays[field.name] for field in fields(Case)})
