"""`duration_forward`: the text encoder and the duration head of the prosody predictor."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from .blocks import BidirectionalLSTM, adaptive_affine
from .masks import padding_positions
from .stock import StockModule


class DurationForward(nn.Module):
    """Maps d_en, style and lengths to duration float32 [B, n, 50] and d float32 [B, n, 640].

    d_en float32 [B, 512, n], style float32 [B, 128], lengths int64 [B]. duration is after the
    sigmoid. Both outputs are 0 from `lengths[b]` on. The values in the padding of `d_en`, including
    NaN, do not affect the outputs.
    """

    def __init__(self, model: StockModule) -> None:
        super().__init__()
        layers = model.predictor.text_encoder.lstms
        self.lstms = nn.ModuleList(BidirectionalLSTM(lstm) for lstm in layers[0::2])
        self.norms: StockModule = nn.ModuleList(layers[1::2])
        self.lstm = BidirectionalLSTM(model.predictor.lstm)
        self.duration_proj = model.predictor.duration_proj.linear_layer

    def forward(self, d_en: Tensor, style: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        x = d_en.transpose(1, 2)
        padding = padding_positions(lengths, x)[:, :, None]
        styles = style[:, None, :].expand(-1, x.shape[1], -1)
        d = torch.cat([x, styles], dim=2).masked_fill(padding, 0.0)
        for lstm, norm in zip(self.lstms, self.norms, strict=True):
            scale, shift = adaptive_affine(norm.fc, style)
            y = functional.layer_norm(lstm(d, lengths), (norm.channels,), eps=norm.eps)
            y = scale[:, None, :] * y + shift[:, None, :]
            d = torch.cat([y, styles], dim=2).masked_fill(padding, 0.0)
        duration = torch.sigmoid(self.duration_proj(self.lstm(d, lengths)))
        return duration.masked_fill(padding, 0.0), d
