"""The spectrum of kokoro's `TorchSTFT` in float64, computed with torch but without kokoro."""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from .spectrum import HOP, N_FFT

Array = NDArray[Any]


def stock_har(waveform: Array) -> Array:
    """The spectrum [1, 22, 120t+1] of a waveform [1, 600t], in float64.

    The same as `ReferenceModel.har`, but without a model.
    """
    wave = torch.from_numpy(waveform)
    spectrum = torch.stft(wave, N_FFT, HOP, N_FFT, window=_window(), return_complex=True)
    return torch.cat([spectrum.abs(), spectrum.angle()], dim=1).numpy()


def stock_window() -> Array:
    """The window of that spectrum, float64 [20], with values rounded to float32 as in kokoro."""
    return _window().numpy()


def _window() -> Tensor:
    return torch.hann_window(N_FFT, periodic=True, dtype=torch.float32).double()
