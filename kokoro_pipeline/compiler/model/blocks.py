"""Building blocks shared by several components, with the parameters of the stock modules."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from kokoro_pipeline.errors import InputError

from .operators import lstm_recurrence
from .stock import StockModule


class BidirectionalLSTM(nn.Module):
    """A bidirectional `nn.LSTM` layer, as a projection and a recurrence that respects lengths.

    Maps x float32 [B, n, C] and lengths int64 [B] to float32 [B, n, 2H], which is 0 from
    `lengths[b]` on. Raises InputError for an unsupported kind of LSTM.
    """

    def __init__(self, lstm: nn.LSTM) -> None:
        super().__init__()
        if not (lstm.bidirectional and lstm.num_layers == 1 and lstm.batch_first and lstm.bias):
            raise InputError(f"expected one bidirectional batch-first layer with bias, got {lstm}")

        def both(name: str) -> list[Tensor]:
            return [getattr(lstm, name).detach(), getattr(lstm, f"{name}_reverse").detach()]

        bias = [a + b for a, b in zip(both("bias_ih_l0"), both("bias_hh_l0"), strict=True)]
        self.projection = nn.Parameter(torch.cat(both("weight_ih_l0")), requires_grad=False)
        self.bias = nn.Parameter(torch.cat(bias), requires_grad=False)
        self.recurrent = nn.Parameter(torch.stack(both("weight_hh_l0")), requires_grad=False)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        gates = functional.linear(x, self.projection, self.bias)
        return lstm_recurrence(gates, self.recurrent, lengths)


def adaptive_affine(fc: nn.Linear, style: Tensor) -> tuple[Tensor, Tensor]:
    """The scale `1 + gamma` and shift `beta`, each [B, C], for a style vector [B, 128]."""
    gamma, beta = fc(style).chunk(2, dim=1)
    return 1 + gamma, beta


def adaptive_instance_norm(norm: StockModule, x: Tensor, style: Tensor) -> Tensor:
    """kokoro's AdaIN1d: instance norm of [B, C, L] over L, then the affine map of the style."""
    scale, shift = adaptive_affine(norm.fc, style)
    return scale[:, :, None] * norm.norm(x) + shift[:, :, None]


def snake(x: Tensor, alpha: Tensor) -> Tensor:
    """Snake activation x + sin(alpha x)^2 / alpha (Ziyin et al. 2020); alpha is [1, C, 1]."""
    wave = torch.sin(alpha * x)
    return x + (1 / alpha) * (wave * wave)


def snake_block(block: StockModule, x: Tensor, style: Tensor) -> Tensor:
    """kokoro's AdaINResBlock1 on [1, C, L]."""
    stages = zip(
        block.convs1,
        block.convs2,
        block.adain1,
        block.adain2,
        block.alpha1,
        block.alpha2,
        strict=True,
    )
    for conv1, conv2, norm1, norm2, alpha1, alpha2 in stages:
        y = conv1(snake(adaptive_instance_norm(norm1, x, style), alpha1))
        y = conv2(snake(adaptive_instance_norm(norm2, y, style), alpha2))
        x = y + x
    return x


def leaky_block(block: StockModule, x: Tensor, style: Tensor) -> Tensor:
    """kokoro's AdainResBlk1d on [1, C, L]; doubles L where the block upsamples."""
    y = functional.leaky_relu(adaptive_instance_norm(block.norm1, x, style), 0.2)
    y = block.conv1(block.pool(y))
    y = functional.leaky_relu(adaptive_instance_norm(block.norm2, y, style), 0.2)
    y = block.conv2(y)
    if block.upsample_type != "none":
        x = functional.interpolate(x, scale_factor=2.0, mode="nearest")
    if block.learned_sc:
        x = block.conv1x1(x)
    return (y + x) * (0.5**0.5)
