"""`text_encoder_forward`: the acoustic text encoder."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from .blocks import BidirectionalLSTM
from .masks import padding_positions
from .stock import StockModule


class TextEncoderForward(nn.Module):
    """Maps input_ids int64 [B, n] and lengths int64 [B] to t_en float32 [B, 512, n].

    t_en is 0 from `lengths[b]` on.
    """

    def __init__(self, model: StockModule) -> None:
        super().__init__()
        encoder = model.text_encoder
        self.embedding = encoder.embedding
        self.convs = nn.ModuleList(layer[0] for layer in encoder.cnn)
        self.norms: StockModule = nn.ModuleList(layer[1] for layer in encoder.cnn)
        self.lstm = BidirectionalLSTM(encoder.lstm)

    def forward(self, input_ids: Tensor, lengths: Tensor) -> Tensor:
        x = self.embedding(input_ids)
        padding = padding_positions(lengths, x)[:, :, None]
        x = x.masked_fill(padding, 0.0)
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = conv(x.transpose(1, 2)).transpose(1, 2)
            x = functional.layer_norm(x, (norm.channels,), norm.gamma, norm.beta, norm.eps)
            x = functional.leaky_relu(x, 0.2).masked_fill(padding, 0.0)
        return self.lstm(x, lengths).transpose(1, 2)
