"""`decoder_forward`: the iSTFTNet decoder, given the spectrum of the harmonic source."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from .blocks import leaky_block, snake_block
from .stft import BINS, InverseSTFT
from .stock import StockModule


class DecoderForward(nn.Module):
    """Maps asr, F0, N, style and har to audio float32 [1, 600 t] at 24 kHz.

    asr float32 [1, 512, t], F0 and N float32 [1, 2t], style float32 [1, 128],
    har float32 [1, 22, 120 t + 1].
    """

    def __init__(self, model: StockModule) -> None:
        super().__init__()
        decoder = model.decoder
        self.F0_conv = decoder.F0_conv
        self.N_conv = decoder.N_conv
        self.asr_res = decoder.asr_res
        self.encode = decoder.encode
        self.decode = decoder.decode
        generator = decoder.generator
        self.ups = generator.ups
        self.noise_convs = generator.noise_convs
        self.noise_res = generator.noise_res
        self.resblocks = generator.resblocks
        self.conv_post = generator.conv_post
        self.n_kernels = int(generator.num_kernels)
        self.istft = InverseSTFT()

    def forward(self, asr: Tensor, F0: Tensor, N: Tensor, style: Tensor, har: Tensor) -> Tensor:
        f0 = self.F0_conv(F0[:, None])
        n = self.N_conv(N[:, None])
        x = leaky_block(self.encode, torch.cat([asr, f0, n], dim=1), style)
        residual = self.asr_res(asr)
        for block in self.decode:
            x = leaky_block(block, torch.cat([x, residual, f0, n], dim=1), style)
        return self._generate(x, style, har)

    def _generate(self, x: Tensor, style: Tensor, har: Tensor) -> Tensor:
        last = len(self.ups) - 1
        for stage, up in enumerate(self.ups):
            source = snake_block(self.noise_res[stage], self.noise_convs[stage](har), style)
            x = up(functional.leaky_relu(x, 0.1))
            if stage == last:
                # Reflecting one column on the left gives the 120 t + 1 columns of the spectrum.
                x = torch.cat([x[:, :, 1, None], x], dim=2)
            x = x + source
            blocks = self.resblocks[stage * self.n_kernels : (stage + 1) * self.n_kernels]
            total = snake_block(blocks[0], x, style)
            for block in blocks[1:]:
                total = total + snake_block(block, x, style)
            x = total * (1.0 / self.n_kernels)
        x = self.conv_post(functional.leaky_relu(x, 0.01))
        return self.istft(torch.exp(x[:, :BINS]), torch.sin(x[:, BINS:]))
