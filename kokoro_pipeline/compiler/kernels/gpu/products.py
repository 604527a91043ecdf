"""Selects the tiles for a precision: scalar for float32 and float64, else tensor cores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..common.operand_precision import Precision
from .scalar_tile import scalar_tiles
from .tensor_core_tile import tensor_core_tiles
from .tile import Geometry, ProductTile, WeightOrder


@dataclass(frozen=True)
class Product:
    """A product by its tiles, the one with the largest blocks first."""

    tiles: tuple[ProductTile, ...]

    @property
    def _weights(self) -> WeightOrder:
        return self.tiles[0].weights

    @property
    def channels(self) -> int:
        """The input channels of the packed weights, padded to what the tiles read."""
        return max(tile.channels for tile in self.tiles)

    @property
    def weight_shape(self) -> tuple[int, int]:
        return self._weights.shape(self.channels)

    @property
    def weight_dtype(self) -> str:
        return self._weights.word_dtype

    def pack(self, weight: np.ndarray) -> np.ndarray:
        """Pack a weight [rows, in_channels, taps] into `weight_shape`."""
        return self._weights.pack(weight, self.channels)


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
        return Product(tuple(scalar_tiles(geometry, dtype)))
    return Product(tuple(tensor_core_tiles(geometry, precision)))
