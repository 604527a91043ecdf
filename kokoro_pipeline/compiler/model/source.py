"""`source_forward`: the harmonic source and its spectrum, in float64.

The phase of the ninth harmonic reaches 1e5 rad, where the resolution of float32 is 0.008 rad.
Computed in float32, the waveform has an error of a fifth of its peak. Therefore everything from F0
to the spectrum is float64.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .stft import ForwardSTFT
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
        self.block = int(sine.upsample_scale)
        self.sample_rate = float(sine.sampling_rate)
        self.sine_amp = float(sine.sine_amp)
        self.noise_std = float(sine.noise_std)
        self.voiced_threshold = float(sine.voiced_threshold)
        harmonics = torch.arange(1, sine.dim + 1, dtype=torch.float64)
        self.harmonics = nn.Parameter(harmonics, requires_grad=False)
        merge = source.l_linear
        self.weight = nn.Parameter(merge.weight.detach().double(), requires_grad=False)
        self.bias = nn.Parameter(merge.bias.detach().double(), requires_grad=False)
        self.stft = ForwardSTFT()

    def forward(self, F0: Tensor, noise: Tensor) -> Tensor:
        wave = self.waveform(F0, noise)
        magnitude, phase = self.stft(wave)
        return torch.cat([magnitude, phase], dim=1).float()

    def waveform(self, F0: Tensor, noise: Tensor) -> Tensor:
        """The excitation, float64 [1, 300 m]."""
        f0 = F0.double()
        blocks = f0.shape[1]
        # Cycles per sample, then cycles at the centre of each block.
        increment = (f0[:, :, None] * self.harmonics) / self.sample_rate
        increment = increment - torch.floor(increment)
        cycles = torch.cumsum(increment, dim=1) * self.block
        # Positions of the samples relative to the block centres, clamped to the outer centres.
        sample = torch.arange(blocks * self.block)
        position = (sample.double() + 0.5) / self.block
        centre = position - 0.5
        left = torch.floor(centre).clamp(min=0.0)
        share = (centre - left).clamp(min=0.0)[None, :, None]
        left_index = left.to(torch.int64)
        right_index = torch.clamp(left_index + 1, max=blocks - 1)
        phase = cycles[:, left_index] * (1.0 - share) + cycles[:, right_index] * share
        sines = torch.sin((phase - torch.floor(phase)) * (2 * torch.pi)) * self.sine_amp
        voiced = (f0[:, torch.floor(position).to(torch.int64)] > self.voiced_threshold).double()[
            :, :, None
        ]
        noise_level = voiced * self.noise_std + (1.0 - voiced) * (self.sine_amp / 3)
        mixed = sines * voiced + noise_level * noise.double()
        return torch.tanh((mixed * self.weight[0]).sum(dim=2) + self.bias)
