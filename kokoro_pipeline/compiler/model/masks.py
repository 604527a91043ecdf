"""Padding. `lengths` is the only word on it: every mask is derived from it here."""

from __future__ import annotations

import torch
from torch import Tensor


def padding_positions(lengths: Tensor, like: Tensor) -> Tensor:
    """Bool [B, n], true from `lengths[b]` on; n is the second dimension of `like` [B, n, ...]."""
    return torch.arange(like.shape[1]) >= lengths[:, None]
