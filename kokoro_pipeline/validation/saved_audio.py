"""`--save-dir`: save the compared audio and arrays for inspection."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artifact.disk import writing
from ..config import SAMPLE_RATE
from ..runtime.audio import write_wav
from .case_reference import CaseReference, ReferenceArrays
from .stock_spectrum import stock_har


def save_case(stem: Path, reference: CaseReference, outputs: Mapping[str, NDArray[Any]]) -> None:
    """Write `stem`.ours.wav, .float32.wav and .float64.wav (32-bit float) and `stem`.npz.

    The .npz contains our outputs as `ours_*`, the arrays of the reference as `reference_*`, and the
    inputs of every step. Without a usable whole audio, there is no .ours.wav. Raises
    EnvironmentFault if writing fails.
    """
    arrays = reference.arrays
    sounds = {"float32": arrays.audio_float32, "float64": arrays.audio}
    if "whole_audio" in outputs:  # absent if it is unusable
        sounds["ours"] = outputs["whole_audio"]
    for name, sound in sounds.items():
        path = stem.with_name(f"{stem.name}.{name}.wav")
        with writing(path):
            write_wav(path, sound.reshape(-1).astype(np.float32), SAMPLE_RATE, floating=True)
    content = {f"ours_{name}": array for name, array in outputs.items()}
    content |= {f"reference_{name}": getattr(arrays, name) for name in ReferenceArrays.names()}
    content["reference_har"] = stock_har(arrays.step_waveform)
    content |= {
        "input_ids": reference.inputs.input_ids,
        "input_style": reference.inputs.style,
        "input_noise": reference.noise,
        "input_en": reference.en,
        "input_asr": reference.asr,
        "input_har": reference.har,
    }
    path = stem.with_name(f"{stem.name}.npz")
    with writing(path):
        np.savez(path, allow_pickle=False, **content)
