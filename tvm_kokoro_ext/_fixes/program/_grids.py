"""Our own decompositions in PyTorch of images and volumes at the places of a grid."""

from __future__ import annotations

import itertools
import math
from typing import Any


def affine_grid(theta: Any, size: Any, align_corners: bool) -> Any:
    """Torch's has an operator in place for an axis of one pixel."""
    import torch

    def line(pixels: int) -> Any:
        if pixels < 2:
            return torch.zeros(pixels, dtype=theta.dtype)
        end = 1 if align_corners else (pixels - 1) / pixels
        return torch.linspace(-end, end, pixels, dtype=theta.dtype)

    batch, _, *pixels = size
    axes = torch.meshgrid(*map(line, pixels), indexing="ij")
    places = torch.stack([*reversed(axes), torch.ones_like(axes[0])], -1).reshape(-1, len(axes) + 1)
    return (places @ theta.mT).reshape(batch, *pixels, len(axes))


def grid_sampler_2d(x: Any, grid: Any, mode: int, padding: int, align_corners: bool) -> Any:
    """An image at places that need not be whole, also at ones that are NaN or infinite.

    With zeros as padding, bilinear results there are NaN; at an edge or mirrored, they are the
    first pixel. Modes are 0 bilinear, 1 nearest, 2 bicubic; padding 0 zeros, 1 edge, 2 mirrored.
    Only bicubic results are left to torch's decomposition: for what lies outside, it multiplies the
    first pixel by zero, which is NaN where that is not finite.
    """
    import torch
    from torch._decomp import decomposition_table

    if padding == 2 and align_corners:
        # Torch's mirrors by the number of pixels less 1. Two equal ones are right for a single one.
        for axis, size in enumerate(x.shape[2:], 2):
            if not isinstance(size, int):
                pixels = torch.arange(torch.sym_max(size, 2)).clamp(max=size - 1)
                x = x.index_select(axis, pixels)
    if padding and mode != 2:
        grid = torch.where(grid.isnan() if padding == 1 else ~grid.isfinite(), -1.0, grid)
    if mode != 2:
        sampled = _sampled(x, grid, mode, padding, align_corners)
    else:
        sample = decomposition_table[torch.ops.aten.grid_sampler_2d.default]
        sampled = sample(x, grid, mode, padding, align_corners)
    if padding == 0 and mode == 0:
        known = grid[..., 0].isfinite() & grid[..., 1].isfinite()
        sampled = torch.where(known.unsqueeze(1), sampled, sampled.new_full((), math.nan))
    return sampled


def grid_sampler_3d(x: Any, grid: Any, mode: int, padding: int, align_corners: bool) -> Any:
    """Volumes at places that need not be whole: modes and paddings as in two dimensions.

    Places that are NaN are, unlike those in two dimensions, outside, or with an edge the last one.
    """
    return _sampled(x, grid, mode, padding, align_corners)


def _sampled(x: Any, grid: Any, mode: int, padding: int, align_corners: bool) -> Any:
    """The nearest pixels, or those around weighted, at the places of a grid of as many axes."""
    import torch

    batch, channels, *sizes = x.shape
    wide = torch.float32 if x.dtype in (torch.float16, torch.bfloat16) else x.dtype
    flat = x.reshape(batch, channels, -1)
    points = grid.to(wide).reshape(batch, -1, len(sizes))
    places = [
        _place(points[..., len(sizes) - 1 - axis], size, padding, align_corners)
        for axis, size in enumerate(sizes)
    ]

    def read(corner: list[Any]) -> Any:
        inside = torch.ones_like(corner[0], dtype=torch.bool)
        offset = torch.zeros_like(corner[0], dtype=torch.int64)
        for place, size in zip(corner, sizes, strict=True):
            inside = inside & (place >= 0) & (place < size)
            offset = offset * size + place.clamp(0, size - 1).to(torch.int64)
        found = flat.gather(2, offset.unsqueeze(1).expand(batch, channels, offset.shape[1]))
        return torch.where(inside.unsqueeze(1), found.to(wide), 0.0)

    if mode == 1:
        result = read([place.round() for place in places])
    else:
        lower = [place.floor() for place in places]
        result = torch.zeros((), dtype=wide)
        for corner in itertools.product((0, 1), repeat=len(sizes)):
            weight = torch.ones_like(places[0])
            for place, low, up in zip(places, lower, corner, strict=True):
                weight = weight * (place - low if up else low + 1 - place)
            at = [low + up for low, up in zip(lower, corner, strict=True)]
            result = result + read(at) * weight.unsqueeze(1)
    return result.to(x.dtype).reshape(batch, channels, *grid.shape[1:-1])


def _place(place: Any, size: Any, padding: int, align_corners: bool) -> Any:
    """The place from -1 to 1 as one among `size` pixels, as torch's kernel computes it."""
    import torch

    wide = (place + 1) / 2 * (size - 1)
    place = wide if align_corners else ((place + 1) * size - 1) / 2
    if padding == 2:
        first, span = (0, size - 1) if align_corners else (-0.5, size)
        away = (place - first).abs()
        rest = away.fmod(span)
        turned = (away / span).floor() % 2 != 0
        place = torch.where(turned, span - rest + first, rest + first)
        place = place if not align_corners or size > 1 else torch.zeros_like(place)
    if padding:
        place = torch.where(place.isnan(), size - 1, place.clamp(0, size - 1))
    known = place.isfinite() & (place.abs() < 2.0**31)
    return torch.where(known, place, -100.0)
