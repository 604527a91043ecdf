"""The exact short-time Fourier transform of kokoro's `TorchSTFT`, as convolutions.

It has n_fft 20, hop 5, a periodic Hann window, and is centred with reflection, like `torch.stft`
and `torch.istft`. The one-sided spectrum has 11 bins. The imaginary parts of bins 0 and 10 are
exactly 0, as for a real FFT, so that the phase `atan2(0, negative)` is +pi there.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

N_FFT = 20
HOP = 5
BINS = N_FFT // 2 + 1


def _angles() -> Tensor:
    bins = torch.arange(BINS, dtype=torch.float64)
    samples = torch.arange(N_FFT, dtype=torch.float64)
    return 2 * torch.pi * bins[:, None] * samples / N_FFT


def _sines() -> Tensor:
    sines = torch.sin(_angles())
    sines[0] = sines[-1] = 0.0
    return sines


def spectrum(wave: Tensor, basis: Tensor, hop: int) -> tuple[Tensor, Tensor]:
    """Magnitude and phase [1, K, L / hop + 1] of wave [1, L]; L is a multiple of hop.

    basis [2K, 1, taps] holds the windowed cosines of K bins, then their negated sines. Columns are
    centred, and the wave is reflected about its first and last sample.
    """
    length, (bins, _, taps) = wave.shape[1], basis.shape
    index = (torch.arange(length + taps) - taps // 2).abs()
    index = (length - 1) - ((length - 1) - index).abs()
    parts = functional.conv1d(wave[:, index][:, None], basis, stride=hop)
    real, imaginary = parts[:, : bins // 2], parts[:, bins // 2 :]
    return torch.sqrt(real * real + imaginary * imaginary), torch.atan2(imaginary, real)


class ForwardSTFT(nn.Module):
    """Maps wave float64 [1, L] to magnitude and phase, float64 [1, 11, L / 5 + 1].

    L must be a multiple of 5.
    """

    def __init__(self) -> None:
        super().__init__()
        # kokoro stores its window in float32; the exact model is the one with that window.
        window = torch.hann_window(N_FFT, dtype=torch.float32).double()
        basis = torch.cat([torch.cos(_angles()), -_sines()]) * window
        self.basis = nn.Parameter(basis[:, None], requires_grad=False)

    def forward(self, wave: Tensor) -> tuple[Tensor, Tensor]:
        return spectrum(wave, self.basis, HOP)


class InverseSTFT(nn.Module):
    """Maps magnitude and phase, float32 [1, 11, m + 1], to wave float32 [1, 5 m]."""

    def __init__(self) -> None:
        super().__init__()
        window = torch.hann_window(N_FFT, dtype=torch.float32).double()
        # All bins of the one-sided spectrum except 0 and 10 also represent their mirror images.
        mirror = torch.full((BINS, 1), 2.0, dtype=torch.float64)
        mirror[0] = mirror[-1] = 1.0
        basis = torch.cat([mirror * torch.cos(_angles()), -mirror * _sines()]) * window / N_FFT
        self.basis = nn.Parameter(basis[:, None].float(), requires_grad=False)
        self.envelope = nn.Parameter((window * window)[None, None].float(), requires_grad=False)

    def forward(self, magnitude: Tensor, phase: Tensor) -> Tensor:
        spectrum = torch.cat([magnitude * torch.cos(phase), magnitude * torch.sin(phase)], dim=1)
        wave = _overlap_add(spectrum, self.basis)
        weight = _overlap_add(torch.ones_like(magnitude[:, :1]), self.envelope)
        return (wave / weight)[:, 0]


def _overlap_add(columns: Tensor, basis: Tensor) -> Tensor:
    """Columns [1, K, m + 1] times basis [K, 1, N_FFT], overlap-added, without the margins."""
    return functional.conv_transpose1d(columns, basis, stride=HOP, padding=N_FFT // 2)
