"""The tile in which every thread multiplies by itself, in float32 or float64.

Each thread accumulates ROWS by `columns` sums in registers. The columns of a thread are a warp
apart, so that neighbouring threads read neighbouring words in different banks. All threads of a
warp read the same weights, which is a broadcast.

With many channels and few columns or rows, blocks are small, and `slices` groups of warps take
turns with the chunks. Their sums are combined in shared memory, always in the same order.
"""

from __future__ import annotations

from collections.abc import Callable

import tvm

from .threads import (
    WARP,
    Expr,
    T,
    add_to,
    const,
    i32,
    registers,
    store,
    synchronize,
)
from .tile import Geometry, Multiplier, Place, ProductTile, WeightOrder

ROWS = 8  # rows per thread
MAX_WARPS = 8
MAX_CHUNK = 32
SHARED_BYTES = 24 << 10


def scalar_tiles(geometry: Geometry, dtype: str = "float32") -> list[ProductTile]:
    """The tile for many columns, and the one for few of them where a sum has many terms.

    With many channels, which in a model means that sequences are short, it computes 32 by 32 sums;
    larger blocks would not occupy all multiprocessors of a GPU.
    """
    rows, channels = geometry.rows, geometry.in_channels
    warps = min(MAX_WARPS // 2 if geometry.is_deep else MAX_WARPS, -(-rows // ROWS))
    slices = MAX_WARPS // warps if geometry.is_deep else 1
    columns = 1 if slices > 1 else 2 if rows > 128 or geometry.stride > 2 else 4
    large = _tile(geometry, dtype, warps, columns, slices)
    if channels < 4 * WARP:
        return [large]
    small = _tile(geometry, dtype, 1, 1, MAX_WARPS)
    return [small] if rows <= ROWS else [large, small]


def _tile(geometry: Geometry, dtype: str, warps: int, columns: int, slices: int) -> ProductTile:
    """A block of `warps * ROWS` rows and `WARP * columns` columns."""
    block_rows, block_columns = warps * ROWS, WARP * columns
    window, panel = geometry.window(block_columns), geometry.taps * block_rows
    meeting = (slices - 1) * block_rows * block_columns

    def fits(chunk: int) -> bool:
        words = slices * chunk * window + max(slices * chunk * panel, meeting)
        return words * tvm.DataType(dtype).bits // 8 <= SHARED_BYTES

    chunk = 1
    while chunk < MAX_CHUNK and chunk * slices < geometry.in_channels and fits(2 * chunk):
        chunk *= 2
    sizes = block_rows, block_columns, warps, chunk, window
    return ProductTile(WeightOrder(geometry, ROWS, 1, dtype), _ScalarMultiplier, *sizes, slices)


class _ScalarMultiplier(Multiplier):
    def __init__(self, tile: ProductTile, place: Place) -> None:
        self._tile, self._place = tile, place
        self._columns = tile.block_columns // WARP
        self._totals = registers(ROWS * self._columns, tile.dtype)
        self._weights = registers(ROWS, tile.dtype)
        self._samples = registers(self._columns, tile.dtype)
        self._sums = [(i, j) for i in range(ROWS) for j in range(self._columns)]
        for i in range(ROWS * self._columns):
            store(self._totals, i, const(0, tile.dtype))

    def put(self, index: int, value: Expr, to: Expr) -> None:
        store(self._place.window, to, value)

    def multiply(self, stage: Expr, panel_start: Expr) -> None:
        tile, place, geometry = self._tile, self._place, self._tile.geometry
        vector = 4 if tile.dtype == "float32" else 1
        with T.serial(i32(0), i32(tile.chunk)) as c, T.serial(i32(0), i32(geometry.taps)) as k:
            first = panel_start + ((place.warp * tile.chunk + c) * geometry.taps + k) * ROWS
            for row in range(0, ROWS, vector):
                with T.vectorized(i32(0), i32(vector)) as v:
                    store(self._weights, row + v, place.panel[first + row + v])
            for j in range(self._columns):
                column = (place.lane + j * WARP) * geometry.stride
                at = c * tile.window_pitch + column + k * geometry.dilation
                store(self._samples, j, place.window[place.window_start + at])
            for i, j in self._sums:
                product = self._weights[i32(i)] * self._samples[i32(j)]
                add_to(self._totals, i * self._columns + j, product)

    def write(self, write: Callable[[Expr, Expr, Expr], None]) -> None:
        tile, place = self._tile, self._place

        def total(i: int, j: int) -> Expr:
            return self._totals[i32(i * self._columns + j)]

        def write_all() -> None:
            for i, j in self._sums:
                write(place.warp * ROWS + i, place.lane + j * WARP, total(i, j))

        if tile.slices == 1:
            write_all()
            return
        block_sums = tile.block_rows * tile.block_columns

        def meeting(part: Expr, i: int, j: int) -> Expr:
            """Where sum (i, j) of a part other than 0 lies."""
            row = place.warp * ROWS + i
            return part * block_sums + (row * tile.block_columns + j * WARP + place.lane)

        synchronize()
        with T.If(place.part > 0), T.Then():
            for i, j in self._sums:
                store(place.panel, meeting(place.part - 1, i, j), total(i, j))
        synchronize()
        with T.If(place.part == 0), T.Then():
            with T.serial(i32(0), i32(tile.slices - 1)) as other:
                for i, j in self._sums:
                    at = i * self._columns + j
                    add_to(self._totals, at, place.panel[meeting(other, i, j)])
            write_all()
