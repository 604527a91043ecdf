"""`source_forward`: the harmonic source and its spectrum, in float64.

The phase of the ninth harmonic reaches 1e5 rad, where the resolution of float32 is 0.008 rad.
Computed in float32, the waveform has an error of a fifth of its peak. Therefore everything from F0
to the spectrum is float64.
"""

from __future__ import annotations

from torch import Tensor, nn

from .operators import excitation, harmonic_source
from .stft import HOP, ForwardSTFT
from .stock import StockModule


class SourceForward(nn.Module):
    """Maps F0 and noise to har float32 [1, 22, 60 m + 1]: 11 magnitudes, then 11 phases in radians.

    F0 float32 [1, m] in Hz (m = 2t), noise float32 [1, 300 m, 9], standard normal.

    This is exactly kokoro's SineGen: its downsampling reads the samples 149 and 150 of every 300,
    which have the same F0, so the phase increment of a block depends on that block only; its
    upsampling is linear between block centres.
    """

    def __init__(self, model: StockModule) -> None:
        super().__init__()
        source = model.decoder.generator.m_source
        sine = source.l_sin_gen
        merge = source.l_linear
        self.weight = nn.Parameter(merge.weight.detach().double(), requires_grad=False)
        self.bias = nn.Parameter(merge.bias.detach().double(), requires_grad=False)
        self.stft = ForwardSTFT()
        self.sample_rate, self.block = int(sine.sampling_rate), int(sine.upsample_scale)
        self.levels = (
            float(sine.sine_amp),
            float(sine.noise_std),
            float(sine.sine_amp) / 3,
            float(sine.voiced_threshold),
        )
        """Amplitude, noise where voiced and where unvoiced, threshold in Hz."""

    def forward(self, F0: Tensor, noise: Tensor) -> Tensor:
        rates = self.sample_rate, self.block, HOP
        mix = self.weight, self.bias, self.stft.basis
        return harmonic_source(F0, noise, *mix, *rates, *self.levels)

    def waveform(self, F0: Tensor, noise: Tensor) -> Tensor:
        """The excitation, float64 [1, 300 m]."""
        rates = self.sample_rate, self.block
        return excitation(F0, noise, self.weight, self.bias, *rates, *self.levels)
