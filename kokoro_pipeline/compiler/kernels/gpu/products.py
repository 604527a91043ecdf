"""Selects the tile for a precision: `tile` for float32 and float64, else tensor cores."""

from __future__ import annotations

from collections.abc import Sequence

from ..common.operand_precision import Precision
from .producer import NOTHING, Producer
from .tensor_core_tile import TensorCoreTile, emit_tensor_core_tile
from .threads import Buffer, Expr
from .tile import Store, Tile, emit_tile

Product = Tile | TensorCoreTile


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
) -> Product:
    """The tile of a product. `dtype`, float32 or float64, applies without reduced precision."""
    geometry = (rows, in_channels, taps, stride, dilation, pad_left)
    if precision is Precision.FLOAT32:
        return Tile(*geometry, dtype)
    return TensorCoreTile(*geometry, precision)


def emit_product(
    tile: Product,
    batch: Expr,
    length: Expr,
    columns: Expr,
    x: Buffer,
    weights: Buffer,
    write: Store,
    producer: Producer = NOTHING,
    coefficients: Sequence[Buffer] = (),
) -> None:
    """Launch the product of either kind of tile over `columns` columns; see `emit_tile`."""
    arguments = (batch, length, columns, x, weights, write, producer, coefficients)
    if isinstance(tile, Tile):
        emit_tile(tile, *arguments)
    else:
        emit_tensor_core_tile(tile, *arguments)
