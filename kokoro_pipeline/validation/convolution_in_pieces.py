"""float64 convolutions in pieces along the time axis, which take a fraction of the memory.

PyTorch's only float64 convolution unfolds its input: for 45 s of audio and a kernel of 11 the
unfolded input takes 2.4 GB. In pieces it takes megabytes and fits into the cache.
"""

from __future__ import annotations

import functools

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..errors import InputError

PIECE = 1024
"""Output samples per piece."""


def convolve_in_pieces(model: nn.Module) -> None:
    """Make every Conv1d of `model` compute its output piece by piece.

    Raises InputError for padding with anything but zeros, which does not occur in kokoro.
    """
    for module in model.modules():
        if not isinstance(module, nn.Conv1d):
            continue
        if module.padding_mode != "zeros" or not isinstance(module.padding[0], int):
            raise InputError(f"cannot convolve in pieces: {module}")
        # Weight normalization is not affected, since it is a hook before the forward function.
        module.forward = functools.partial(_forward, module)  # type: ignore[method-assign]


def _forward(conv: nn.Conv1d, x: Tensor) -> Tensor:
    stride, dilation, padding = conv.stride[0], conv.dilation[0], int(conv.padding[0])
    padded = functional.pad(x, (padding, padding))
    reach = dilation * (conv.kernel_size[0] - 1) + 1
    count = (padded.shape[-1] - reach) // stride + 1
    pieces = []
    for start in range(0, count, PIECE):
        last = min(start + PIECE, count) - 1
        part = padded[..., start * stride : last * stride + reach]
        pieces.append(
            functional.conv1d(part, conv.weight, conv.bias, stride, 0, dilation, conv.groups)
        )
    return torch.cat(pieces, dim=-1)
