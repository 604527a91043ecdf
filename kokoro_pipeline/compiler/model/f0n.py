"""`f0n_forward`: pitch and energy curves."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .blocks import BidirectionalLSTM, leaky_block
from .stock import StockModule


class F0NForward(nn.Module):
    """Maps en float32 [1, 640, t] and style float32 [1, 128] to F0 and N.

    F0 is float32 [1, 2t] in Hz, N is float32 [1, 2t].
    """

    def __init__(self, model: StockModule) -> None:
        super().__init__()
        predictor = model.predictor
        self.shared = BidirectionalLSTM(predictor.shared)
        self.F0 = predictor.F0
        self.N = predictor.N
        self.F0_proj = predictor.F0_proj
        self.N_proj = predictor.N_proj

    def forward(self, en: Tensor, style: Tensor) -> tuple[Tensor, Tensor]:
        frames = torch.full((1,), en.shape[2], dtype=torch.int64)
        x = self.shared(en.transpose(1, 2), frames).transpose(1, 2)
        f0 = n = x
        for block in self.F0:
            f0 = leaky_block(block, f0, style)
        for block in self.N:
            n = leaky_block(block, n, style)
        return self.F0_proj(f0)[:, 0], self.N_proj(n)[:, 0]
