"""The tile that all convolutions are based on: an implicit matrix product in shared memory.

    total[m, l] = sum_{ci, k} W[m, ci, k] X[ci, l * stride + k * dilation - pad_left]

A block of threads computes `warps * ROWS` rows m and `WARP * columns` columns l. It iterates over
the input channels in chunks: it copies the chunk's window of X, after applying the producer and
with zeros outside of the sequence, and its weights to shared memory; then each thread accumulates
ROWS by `columns` sums in registers. The columns of a thread are a warp apart, so that neighbouring
threads read neighbouring words in different banks. All threads of a warp read the same weights,
which is a broadcast.

With many channels and few columns or rows, blocks are small, and `slices` groups of warps take
turns with the chunks. Their sums are combined in shared memory, always in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import tvm
from tvm import tirx

from .producer import NOTHING, Producer, channel_function
from .threads import (
    WARP,
    Buffer,
    Expr,
    T,
    add_to,
    bind,
    ceil_div,
    const,
    hold,
    i32,
    launch,
    registers,
    shared,
    store,
    synchronize,
)

ROWS = 8  # rows per thread
MAX_WARPS = 8
DEEP = 512
"""From this number of input channels on, sequences are assumed to be short."""
SHARED_BYTES = 24 << 10


@dataclass(frozen=True)
class Tile:
    """How a product of `rows` (output channels) by columns (time) is tiled."""

    rows: int
    in_channels: int
    taps: int
    stride: int = 1
    dilation: int = 1
    pad_left: int = 0
    dtype: str = "float32"

    @property
    def deep(self) -> bool:
        """Whether there are many channels, which in a model means that sequences are short.

        Blocks then compute 32 by 32 sums; larger blocks would not occupy all processors of a GPU.
        """
        return self.in_channels >= DEEP and self.rows < 4 * DEEP

    @property
    def slices(self) -> int:
        """Groups of warps, each with its own chunks of the input channels."""
        few = self.rows <= ROWS and self.in_channels >= 4 * WARP
        return MAX_WARPS // self.warps if self.deep or few else 1

    @property
    def warps(self) -> int:
        """Warps per slice; each computes ROWS rows."""
        return min(MAX_WARPS // 2 if self.deep else MAX_WARPS, -(-self.rows // ROWS))

    @property
    def block_rows(self) -> int:
        return self.warps * ROWS

    @property
    def blocks(self) -> int:
        return -(-self.rows // self.block_rows)

    @property
    def columns(self) -> int:
        """Columns per thread."""
        if self.slices > 1:
            return 1
        return 2 if self.rows > 128 or self.stride > 2 else 4

    @property
    def block_columns(self) -> int:
        return WARP * self.columns

    @property
    def window(self) -> int:
        """Samples of one channel that the columns of a block read."""
        return (self.block_columns - 1) * self.stride + (self.taps - 1) * self.dilation + 1

    @property
    def item_bytes(self) -> int:
        return tvm.DataType(self.dtype).bits // 8

    @property
    def chunk(self) -> int:
        """Input channels that a slice keeps in shared memory at a time."""
        channel = (self.window + self.taps * self.block_rows) * self.item_bytes * self.slices
        meeting = (self.slices - 1) * self.block_rows * self.block_columns * self.item_bytes
        largest = max(1, min(32, (SHARED_BYTES - meeting) // channel))
        size = 1
        while 2 * size <= largest and size < self.in_channels:
            size *= 2
        return size

    @property
    def turns(self) -> int:
        """Chunks per slice."""
        return -(-self.in_channels // (self.chunk * self.slices))

    @property
    def chunks(self) -> int:
        return self.turns * self.slices

    @property
    def weight_shape(self) -> tuple[int, int]:
        return self.blocks, self.chunks * self.chunk * self.taps * self.block_rows

    @property
    def weight_dtype(self) -> str:
        return self.dtype

    def pack(self, weight: np.ndarray) -> np.ndarray:
        """Pack a weight [rows, in_channels, taps] into `weight_shape`, padded with 0.

        The order is block, input channel, tap, row.
        """
        rows, channels, taps = weight.shape
        padded = np.zeros(
            (self.blocks * self.block_rows, self.chunks * self.chunk, taps), self.dtype
        )
        padded[:rows, :channels] = weight
        split = padded.reshape(self.blocks, self.block_rows, -1, taps)
        return np.ascontiguousarray(split.transpose(0, 2, 3, 1)).reshape(self.weight_shape)


Store = Callable[[Expr, Expr, Expr, Expr], None]
"""(batch row, row m, column l, total): writes one sum; m and l are within bounds."""


def emit_tile(
    tile: Tile,
    batch: Expr,
    length: Expr,
    columns: Expr,
    x: Buffer,
    weights: Buffer,
    write: Store,
    producer: Producer = NOTHING,
    coefficients: Sequence[Buffer] = (),
) -> None:
    """Launch the product over all rows, `columns` columns and `batch` sequences of `length`."""
    C, K, dtype = tile.in_channels, tile.taps, tile.dtype
    # Load 16 bytes at a time; float64 values, which are not time-critical, one by one.
    vector = 4 if dtype == "float32" else 1
    threads = tile.warps * WARP
    chunk_words = tile.chunk * K * tile.block_rows
    block_sums = tile.block_rows * tile.block_columns
    meeting_words = (tile.slices - 1) * block_sums
    grid = [ceil_div(columns, tile.block_columns), tile.blocks, batch]
    block = [WARP, tile.warps, *([tile.slices] if tile.slices > 1 else [])]
    resident = 4 if tile.slices > 1 else None  # such launches never have many blocks
    with launch(grid, block, resident) as (
        (column_block, row_block, b),
        (lane, warp, *slice_index),
    ):
        part = slice_index[0] if slice_index else i32(0)
        window = shared(tile.slices * tile.chunk * tile.window, dtype)
        panel = shared(max(tile.slices * chunk_words, meeting_words), dtype)
        window_start = part * (tile.chunk * tile.window)
        part_panel = part * chunk_words
        totals = registers(ROWS * tile.columns, dtype)
        row_weights = registers(ROWS, dtype)
        samples = registers(tile.columns, dtype)
        for i in range(ROWS * tile.columns):
            store(totals, i, const(0, dtype))
        first = bind(column_block * (tile.block_columns * tile.stride) - tile.pad_left)
        panel_start = row_block * (tile.chunks * chunk_words)

        def load_window(chunk: Expr) -> None:
            rounds = -(-tile.chunk // tile.warps)
            with T.serial(i32(0), i32(rounds)) as turn:
                slot = bind(turn * tile.warps + warp)
                with T.If(slot < tile.chunk), T.Then():
                    c = bind(chunk * tile.chunk + slot)
                    exists = c < C
                    channel = bind(tirx.min(c, i32(C - 1)))
                    apply = channel_function(producer, coefficients, C, b, channel)
                    row = bind((b * C + channel) * length)
                    with T.serial(i32(0), i32(-(-tile.window // WARP))) as j:
                        offset = bind(j * WARP + lane)
                        with T.If(offset < tile.window), T.Then():
                            position = bind(first + offset)
                            inside = tirx.all(exists, position >= 0, position < length)
                            with T.If(inside):
                                with T.Then():
                                    value = apply(x[row + position])
                                    store(window, window_start + slot * tile.window + offset, value)
                                with T.Else():
                                    zero = const(0, dtype)
                                    store(window, window_start + slot * tile.window + offset, zero)

        def load_panel(chunk: Expr) -> None:
            start = bind(panel_start + chunk * chunk_words)
            stride = threads * vector
            with T.serial(i32(0), i32(-(-chunk_words // stride))) as j:
                offset = bind(j * stride + (warp * WARP + lane) * vector)
                exists = offset < chunk_words
                with T.If(exists), T.Then(), T.vectorized(i32(0), i32(vector)) as v:
                    store(panel, part_panel + offset + v, weights[start + offset + v])

        with T.serial(i32(0), i32(tile.turns)) as turn:
            chunk = bind(turn * tile.slices + part)
            synchronize()
            load_window(chunk)
            load_panel(chunk)
            synchronize()
            with T.serial(i32(0), i32(tile.chunk)) as c, T.serial(i32(0), i32(K)) as k:
                for row in range(0, ROWS, vector):
                    with T.vectorized(i32(0), i32(vector)) as v:
                        at = (c * K + k) * tile.block_rows + warp * ROWS + row + v
                        store(row_weights, row + v, panel[part_panel + at])
                for j in range(tile.columns):
                    at = c * tile.window + (lane + j * WARP) * tile.stride + k * tile.dilation
                    store(samples, j, window[window_start + at])
                for i in range(ROWS):
                    for j in range(tile.columns):
                        product = row_weights[i32(i)] * samples[i32(j)]
                        add_to(totals, i * tile.columns + j, product)

        def place(i: int, j: int) -> Expr:
            """Offset of sum (i, j) within its block."""
            return (warp * ROWS + i) * tile.block_columns + j * WARP + lane

        sums = [(i, j) for i in range(ROWS) for j in range(tile.columns)]

        def write_all() -> None:
            for i, j in sums:
                m = bind(row_block * tile.block_rows + warp * ROWS + i)
                column = bind(column_block * tile.block_columns + lane + j * WARP)
                with T.If(tirx.And(m < tile.rows, column < columns)), T.Then():
                    write(b, m, column, hold(totals[i32(i * tile.columns + j)], dtype))

        if tile.slices == 1:
            write_all()
            return
        synchronize()
        with T.If(part > 0), T.Then():
            for i, j in sums:
                total = totals[i32(i * tile.columns + j)]
                store(panel, (part - 1) * block_sums + place(i, j), total)
        synchronize()
        with T.If(part == 0), T.Then():
            with T.serial(i32(0), i32(tile.slices - 1)) as other:
                for i, j in sums:
                    add_to(totals, i * tile.columns + j, panel[other * block_sums + place(i, j)])
            write_all()
