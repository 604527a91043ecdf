"""Selects the tiles for a precision: scalar for float32 and float64, else tensor cores."""

from __future__ import annotations

from dataclasses import dataclass

from ..common.operand_precision import Precision
from .scalar_tile import scalar_tiles
from .tensor_core_tile import tensor_core_tiles
from .tile import Geometry, Packing, ProductTile


@dataclass(frozen=True)
class Product:
    """A product: the order of its weights, and its tiles, the one with the largest blocks first."""

    packing: Packing
    tiles: tuple[ProductTile, ...]


def make_product(
    rows: int,
    in_channels: int,
    taps: int,
    stride: int = 1,
    dilation: int = 1,
    pad_left: int = 0,
    *,
    dtype: str = "float32",
    precision: Precision = Precision.FLOAT32,
) -> Product:
    """The tiles of a product. `dtype`, float32 or float64, applies without reduced precision.

    Raises InputError if no tile fits shared memory.
    """
    geometry = Geometry(rows, in_channels, taps, stride, dilation, pad_left)
    if precision is Precision.FLOAT32:
        tiles = scalar_tiles(geometry, dtype)
    else:
        tiles = tensor_core_tiles(geometry, precision)
    units = tiles[0].unit_rows, tiles[0].unit_words
    channels = max(tile.channels for tile in tiles)
    return Product(Packing(geometry, *units, channels, dtype, precision), tuple(tiles))
