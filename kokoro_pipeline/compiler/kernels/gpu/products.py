"""Selects the tile for a precision: scalar for float32 and float64, else tensor cores."""

from __future__ import annotations

from ..common.operand_precision import Precision
from .scalar_tile import scalar_tile
from .tensor_core_tile import tensor_core_tile
from .tile import Geometry, ProductTile


def product_tile(
    rows: int,
    in_channels: int,
    taps: int,
    stride: int = 1,
    dilation: int = 1,
    pad_left: int = 0,
    *,
    dtype: str = "float32",
    precision: Precision = Precision.FLOAT32,
) -> ProductTile:
    """The tile of a product. `dtype`, float32 or float64, applies without reduced precision."""
    geometry = Geometry(rows, in_channels, taps, stride, dilation, pad_left)
    if precision is Precision.FLOAT32:
        return scalar_tile(geometry, dtype)
    return tensor_core_tile(geometry, precision)
