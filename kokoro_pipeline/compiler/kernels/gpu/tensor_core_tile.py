"""The product of `tile` on tensor cores, with operands of reduced precision and float32 sums.

    total[m, l] = sum_{ci, k} W[m, ci, k] X[ci, l * stride + k * dilation - pad_left]

A block computes BLOCK_ROWS rows and WARP_COLUMNS * `across` columns; a warp computes 32 by 32 of
them, in products of 16 by 8. The block iterates over the input channels in chunks of words (one
channel of tf32, two of half precision). It copies the chunk's window of X, after applying the
producer and rounding once, and its weights, which were rounded when they were packed, to shared
memory. The 32 lanes of a fragment read 8 neighbours in each of 4 words, so the length of a word's
row is 8 modulo 32, which makes them read 32 different banks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tvm import tirx

from kokoro_pipeline.errors import InputError

from ..common.operand_precision import Precision, to_words
from .producer import NOTHING, Producer, channel_function
from .threads import (
    WARP,
    Buffer,
    Expr,
    T,
    bind,
    ceil_div,
    const,
    div,
    hold,
    i32,
    launch,
    mod,
    registers,
    shared,
    store,
    synchronize,
)
from .tile import Store

ROWS, COLUMNS, WORDS = 16, 8, 8  # of one product; words are counted along its inner dimension
WARP_ROWS, WARP_COLUMNS = 2 * ROWS, 4 * COLUMNS
DOWN = 2  # warps per block along the rows
BLOCK_ROWS = DOWN * WARP_ROWS
BANKS = 32
SHARED_BYTES = 32 << 10
MAX_CHUNK = 32


@dataclass(frozen=True)
class TensorCoreTile:
    """How a product of `rows` (output channels) by columns (time) is tiled."""

    rows: int
    in_channels: int
    taps: int
    stride: int = 1
    dilation: int = 1
    pad_left: int = 0
    precision: Precision = Precision.TF32

    @property
    def across(self) -> int:
        """Warps per block along the columns; fewer with many channels, where sequences are short.

        Smaller blocks then give a GPU enough blocks.
        """
        return 2 if self.rows >= 512 or self.stride > 2 else 4

    @property
    def warps(self) -> int:
        return DOWN * self.across

    @property
    def blocks(self) -> int:
        return -(-self.rows // BLOCK_ROWS)

    @property
    def block_columns(self) -> int:
        return self.across * WARP_COLUMNS

    @property
    def window(self) -> int:
        """Samples of one channel that the columns of a block read."""
        return (self.block_columns - 1) * self.stride + (self.taps - 1) * self.dilation + 1

    @property
    def window_pitch(self) -> int:
        return self.window + (8 - self.window) % BANKS

    @property
    def panel_pitch(self) -> int:
        """Words of weights per word of channels."""
        return self.taps * BLOCK_ROWS + 8

    @property
    def chunk(self) -> int:
        """Words of channels that are in shared memory at a time.

        Raises InputError if not even one product fits.
        """
        fitting = SHARED_BYTES // (4 * (self.window_pitch + self.panel_pitch))
        wanted = -(-self.in_channels // self.precision.per_word)
        size = min(MAX_CHUNK, fitting // WORDS * WORDS, -(-wanted // WORDS) * WORDS)
        if size == 0:
            raise InputError(
                f"a convolution of {self.taps} taps, dilation {self.dilation} and stride "
                f"{self.stride} needs more than {SHARED_BYTES} bytes of shared memory on tensor "
                "cores: build with --precision float32"
            )
        return size

    @property
    def chunks(self) -> int:
        return -(-self.in_channels // (self.chunk * self.precision.per_word))

    @property
    def weight_shape(self) -> tuple[int, int]:
        return self.blocks, self.chunks * self.chunk * self.panel_pitch

    @property
    def weight_dtype(self) -> str:
        return "uint32"

    def pack(self, weight: np.ndarray) -> np.ndarray:
        """Pack a weight [rows, in_channels, taps] into `weight_shape`, padded with 0.

        The order is block, word of channels, tap, row.
        """
        rows, channels, taps = weight.shape
        words = self.chunks * self.chunk
        padded = np.zeros(
            (words * self.precision.per_word, self.blocks * BLOCK_ROWS, taps), np.float32
        )
        padded[:channels, :rows] = weight.transpose(1, 0, 2)
        split = to_words(padded, self.precision).reshape(words, self.blocks, BLOCK_ROWS, taps)
        result = np.zeros((self.blocks, words, self.panel_pitch), np.uint32)
        result[:, :, : taps * BLOCK_ROWS] = split.transpose(1, 0, 3, 2).reshape(
            self.blocks, words, -1
        )
        return result.reshape(self.weight_shape)


def emit_tensor_core_tile(
    tile: TensorCoreTile,
    batch: Expr,
    length: Expr,
    columns: Expr,
    x: Buffer,
    weights: Buffer,
    write: Store,
    producer: Producer = NOTHING,
    coefficients: Sequence[Buffer] = (),
) -> None:
    """Launch the product over all rows, `columns` columns and `batch` sequences of `length`.

    `x` is float32, `weights` as packed by `tile.pack`.
    """
    C, K, per_word = tile.in_channels, tile.taps, tile.precision.per_word
    chunk_words = tile.chunk * tile.panel_pitch
    down, across = WARP_ROWS // ROWS, WARP_COLUMNS // COLUMNS  # products of a warp
    grid = [ceil_div(columns, tile.block_columns), tile.blocks, batch]
    with launch(grid, [WARP, tile.warps]) as ((column_block, row_block, b), (lane, warp)):
        window = shared(tile.chunk * tile.window_pitch, "uint32")
        panel = shared(chunk_words, "uint32")
        totals = registers(down * across * 4)
        left = registers(down * 4, "uint32")
        right = registers(across * 2, "uint32")
        values = registers(per_word)
        word = registers(1, "uint32")
        for i in range(down * across * 4):
            store(totals, i, const(0))
        first = bind(column_block * (tile.block_columns * tile.stride) - tile.pad_left)
        panel_start = row_block * (tile.chunks * chunk_words)
        # The lanes of a fragment: eight groups of rows (or columns) by four words.
        group, quarter = bind(div(lane, 4)), bind(mod(lane, 4))
        warp_row = bind(div(warp, tile.across) * WARP_ROWS)
        warp_column = bind(mod(warp, tile.across) * WARP_COLUMNS)

        def load_window(chunk: Expr) -> None:
            rounds = -(-tile.chunk // tile.warps)
            with T.serial(i32(0), i32(rounds)) as turn:
                slot = bind(turn * tile.warps + warp)
                with T.If(slot < tile.chunk), T.Then():
                    start = bind((chunk * tile.chunk + slot) * per_word)
                    channels = [bind(tirx.min(start + i, i32(C - 1))) for i in range(per_word)]
                    functions = [
                        channel_function(producer, coefficients, C, b, channel)
                        for channel in channels
                    ]
                    with T.serial(i32(0), i32(-(-tile.window // WARP))) as j:
                        offset = bind(j * WARP + lane)
                        position = bind(first + offset)
                        inside = tirx.all(position >= 0, position < length)
                        with T.If(offset < tile.window), T.Then():
                            for i in range(per_word):
                                with T.If(tirx.all(start + i < C, inside)):
                                    with T.Then():
                                        at = (b * C + channels[i]) * length + position
                                        store(values, i, functions[i](x[at]))
                                    with T.Else():
                                        store(values, i, const(0))
                            # PTX takes the upper half first.
                            operands = [values[i32(i)] for i in reversed(range(per_word))]
                            convert = T.ptx[tile.precision.conversion]
                            T.evaluate(convert(word[i32(0)], *operands))
                            store(window, slot * tile.window_pitch + offset, word[i32(0)])

        def load_panel(chunk: Expr) -> None:
            start = bind(panel_start + chunk * chunk_words)
            stride = tile.warps * WARP * 4
            with T.serial(i32(0), i32(-(-chunk_words // stride))) as j:
                offset = bind(j * stride + (warp * WARP + lane) * 4)
                with T.If(offset < chunk_words), T.Then(), T.vectorized(i32(0), i32(4)) as v:
                    store(panel, offset + v, weights[start + offset + v])

        def multiply() -> None:
            """Multiply the chunk, eight words of channels and one tap at a time."""
            with T.serial(i32(0), i32(tile.chunk // WORDS)) as c, T.serial(i32(0), i32(K)) as k:
                words = [bind(c * WORDS + quarter), bind(c * WORDS + quarter + 4)]
                for i in range(down):
                    for half, at in enumerate(words):
                        for side in range(2):
                            row = warp_row + (i * ROWS + side * 8) + group
                            value = panel[at * tile.panel_pitch + k * BLOCK_ROWS + row]
                            store(left, i * 4 + half * 2 + side, value)
                for j in range(across):
                    column = (warp_column + j * COLUMNS + group) * tile.stride + k * tile.dilation
                    for half, at in enumerate(words):
                        store(right, j * 2 + half, window[at * tile.window_pitch + column])
                for i in range(down):
                    for j in range(across):
                        sums = [totals[i32((i * across + j) * 4 + n)] for n in range(4)]
                        a = [left[i32(i * 4 + n)] for n in range(4)]
                        right_words = [right[i32(j * 2 + n)] for n in range(2)]
                        product = T.ptx[tile.precision.instruction]
                        T.evaluate(product(*sums, *a, *right_words, *sums))

        with T.serial(i32(0), i32(tile.chunks)) as chunk:
            synchronize()
            load_window(chunk)
            load_panel(chunk)
            synchronize()
            multiply()

        for i in range(down):
            for side in range(2):
                m = bind(row_block * BLOCK_ROWS + warp_row + (i * ROWS + side * 8) + group)
                for j in range(across):
                    for n in range(2):
                        at = warp_column + j * COLUMNS + quarter * 2 + n
                        column = bind(column_block * tile.block_columns + at)
                        with T.If(tirx.And(m < tile.rows, column < columns)), T.Then():
                            total = totals[i32((i * across + j) * 4 + side * 2 + n)]
                            write(b, m, column, hold(total))
