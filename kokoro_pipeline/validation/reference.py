"""The reference of every step, by the stock `kokoro.KModel` in float32 or float64.

The steps are the statements of `KModel.forward_with_tokens`, divided like the six functions of an
artifact; chained together, they reproduce its result exactly (checked by a test). Inputs and
outputs are numpy arrays in the precision of the model, with the shapes of the six functions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import kokoro
import numpy as np
import torch
from kokoro.istftnet import TorchSTFT
from numpy.typing import NDArray
from torch import Tensor

from ..errors import InputError
from .convolution_in_pieces import convolve_in_pieces
from .stock_precision import kokoro_runs_in

Array = NDArray[Any]


class ReferenceModel:
    """A stock KModel in one precision, with methods for its individual steps.

    The model is modified: it is cast to `dtype` (float32 or float64) in place, including its STFT
    window, which keeps its float32 values.

    Raises InputError for a model whose STFT is not the exact `TorchSTFT`.
    """

    def __init__(self, model: kokoro.KModel, dtype: torch.dtype) -> None:
        stft = model.decoder.generator.stft
        if type(stft) is not TorchSTFT:
            raise InputError(
                f"the reference needs kokoro's default TorchSTFT, not {type(stft).__name__}: "
                "load the model with disable_complex=False"
            )
        self.dtype = dtype
        self.model = model.to(dtype).eval().requires_grad_(False)
        stft.window = stft.window.to(dtype)
        if dtype == torch.float64:
            convolve_in_pieces(self.model)

    def bert(self, input_ids: Array) -> Array:
        """d_en [1, 512, n] for input_ids int64 [1, n]."""
        ids = torch.from_numpy(input_ids)
        _, mask = _lengths_and_mask(ids.shape[1])
        with kokoro_runs_in(self.dtype):
            hidden = self.model.bert(ids, attention_mask=(~mask).int())
            return self.model.bert_encoder(hidden).transpose(-1, -2).numpy()

    def duration(self, d_en: Array, style: Array) -> tuple[Array, Array]:
        """duration [1, n, 50], after the sigmoid, and d [1, n, 640].

        The inputs are d_en [1, 512, n] and style [1, 128].
        """
        predictor = self.model.predictor
        lengths, mask = _lengths_and_mask(d_en.shape[2])
        with kokoro_runs_in(self.dtype):
            d = predictor.text_encoder(self._tensor(d_en), self._tensor(style), lengths, mask)
            x, _ = predictor.lstm(d)
            duration = torch.sigmoid(predictor.duration_proj(x))
            return duration.numpy(), d.numpy()

    def text_encoder(self, input_ids: Array) -> Array:
        """t_en [1, 512, n] for input_ids int64 [1, n]."""
        ids = torch.from_numpy(input_ids)
        lengths, mask = _lengths_and_mask(ids.shape[1])
        with kokoro_runs_in(self.dtype):
            return self.model.text_encoder(ids, lengths, mask).numpy()

    def f0n(self, en: Array, style: Array) -> tuple[Array, Array]:
        """(F0 [1, 2t], N [1, 2t]) for en [1, 640, t] and style [1, 128]."""
        with kokoro_runs_in(self.dtype):
            f0, n = self.model.predictor.F0Ntrain(self._tensor(en), self._tensor(style))
            return f0.numpy(), n.numpy()

    def waveform(self, f0: Array, noise: Array, *, discarded_seed: int = 0) -> Array:
        """The waveform of the harmonic source [1, 600t], after tanh.

        The inputs are F0 [1, 2t] and noise float32 [1, 600t, 9].
        """
        generator = self.model.decoder.generator
        with kokoro_runs_in(self.dtype, torch.from_numpy(noise), discarded_seed=discarded_seed):
            upsampled = generator.f0_upsamp(self._tensor(f0)[:, None]).transpose(1, 2)
            source, _, _ = generator.m_source(upsampled)
            return source.transpose(1, 2).squeeze(1).numpy()

    def har(self, waveform: Array) -> Array:
        """The spectrum [1, 22, 120t+1] of a waveform [1, 600t]: magnitudes, then phases."""
        with kokoro_runs_in(self.dtype):
            magnitude, phase = self.model.decoder.generator.stft.transform(self._tensor(waveform))
            return torch.cat([magnitude, phase], dim=1).numpy()

    def decoder(self, asr: Array, f0: Array, n: Array, style: Array, har: Array) -> Array:
        """The audio [1, 600t] for a given spectrum of the source.

        The inputs are asr [1, 512, t], F0 and N [1, 2t], style [1, 128] and har [1, 22, 120t+1].
        """
        with kokoro_runs_in(self.dtype), self._har_given(self._tensor(har)):
            audio = self.model.decoder(*map(self._tensor, (asr, f0, n, style)))
            return audio.squeeze(1).numpy()

    def decoder_with_noise(
        self, asr: Array, f0: Array, n: Array, style: Array, noise: Array
    ) -> Array:
        """The audio [1, 600t] of the whole stock decoder, including the harmonic source.

        The inputs are those of `decoder`, with noise float32 [1, 600t, 9] instead of har.
        """
        with kokoro_runs_in(self.dtype, torch.from_numpy(noise)):
            audio = self.model.decoder(*map(self._tensor, (asr, f0, n, style)))
            return audio.squeeze(1).numpy()

    def _tensor(self, array: Array) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.dtype)

    @contextlib.contextmanager
    def _har_given(self, har: Tensor) -> Iterator[None]:
        """Context in which the generator uses `har` instead of computing source and spectrum."""
        generator = self.model.decoder.generator
        bins = har.shape[1] // 2
        try:
            generator.m_source.forward = lambda f0: (f0, f0, f0)
            generator.stft.transform = lambda wave: (har[:, :bins], har[:, bins:])
            yield
        finally:
            del generator.m_source.forward, generator.stft.transform


def _lengths_and_mask(n: int) -> tuple[Tensor, Tensor]:
    """`input_lengths` [1] and `text_mask` [1, n] (true for padding) of one row without padding."""
    return torch.tensor([n]), torch.zeros(1, n, dtype=torch.bool)
