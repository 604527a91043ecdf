"""Synthetic weights: Kokoro's architecture with calibrated random weights, without speech.

They make it possible to build, run and check everything where the real weights are unavailable.
They are calibrated so that checks are meaningful: every layer is active, some frames are unvoiced,
durations vary, and no norm or Snake parameter is the identity. The constants were found once by
`calibrate.py`; no computation here could differ between machines.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from kokoro_pipeline.artifact.atomic import new_folder
from kokoro_pipeline.config import default_config
from kokoro_pipeline.errors import InputError

from . import layout
from .checkpoint import State, fingerprint
from .constants import Constants, VoiceScales, stored_constants
from .draws import Draw, draw_tensor
from .folder import VOICE_SHAPE, WeightsFolder, open_folder
from .requirements import building_module


def synthetic_state(seed: int, constants: Constants | None = None) -> State:
    """The synthetic checkpoint for `seed`: component to tensor name to float32 tensor."""
    torch = building_module("torch")
    state: State = {}
    for full_name, draw in (constants or stored_constants()).tensors.items():
        component, name = full_name.split(".", 1)
        values = torch.from_numpy(draw_tensor(seed, full_name, draw))
        state.setdefault(component, {})[name] = values
    return state


def synthetic_voice(seed: int, name: str, scales: VoiceScales) -> np.ndarray:
    """The synthetic voice pack `name` for `seed`: float32 [510, 1, 256], with distinct rows."""

    rows, _, width = VOICE_SHAPE

    def part(kind: str, count: int, scale: float) -> np.ndarray:
        return draw_tensor(
            seed, f"voices/{name}/{kind}", Draw((count, width), (0.0,), scale, "even")
        )

    position = np.arange(rows, dtype=np.float32)[:, None] / np.float32(rows - 1)
    start, end = part("drift", 2, scales.drift)
    drift = start + (end - start) * position
    pack = part("base", 1, scales.base) + drift + part("jitter", rows, scales.jitter)
    return pack.reshape(VOICE_SHAPE)


def _save(value: object, path: Path) -> None:
    """Like `torch.save`, but raise the OSError of the disk, which torch hides in a RuntimeError."""
    torch = building_module("torch")
    with path.open("wb") as file:
        try:
            torch.save(value, file)
        except RuntimeError as error:
            if isinstance(error.__context__, OSError):
                raise error.__context__ from error
            raise


def write_synthetic(directory: str | Path, seed: int = 0) -> WeightsFolder:
    """Write the synthetic weights for `seed` as a new folder in the hub's layout, and open it.

    The folder is created atomically. Raises InputError for a negative seed or a directory that
    exists and is not empty, EnvironmentFault if torch is missing or writing to the disk fails.
    """
    if seed < 0:
        raise InputError(f"a seed is 0 or more, not {seed}")
    torch = building_module("torch")
    constants = stored_constants()
    with new_folder(Path(directory)) as folder:
        config = json.dumps(default_config().raw, ensure_ascii=False, indent=2) + "\n"
        (folder / layout.CONFIG).write_text(config, "utf-8")
        state = synthetic_state(seed, constants)
        _save(state, folder / layout.CHECKPOINT)
        (folder / layout.VOICES).mkdir()
        for name, scales in constants.voices.items():
            pack = torch.from_numpy(synthetic_voice(seed, name, scales))
            _save(pack, folder / layout.VOICES / f"{name}.pt")
        sha256 = fingerprint(state, config.encode())
        layout.SyntheticMark(seed, constants.generator, sha256).write(folder)
    return open_folder(Path(directory))
