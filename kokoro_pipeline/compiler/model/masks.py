"""Padding masks, all of which are derived from `lengths`."""

from __future__ import annotations

import torch
from torch import Tensor


def padding_positions(lengths: Tensor, like: Tensor) -> Tensor:
    """Mask bool [B, n], true from `lengths[b]` on, where n is the second size of `like`."""
    return torch.arange(like.shape[1]) >= lengths[:, None]
