"""The tile that all convolutions are based on: an implicit matrix product in shared memory.

    total[m, l] = sum_{ci, k} W[m, ci, k] X[ci, l * stride + k * dilation - pad_left]

A block of threads computes `block_rows` rows m and `block_columns` columns l. It iterates over the
input channels in chunks: it copies the chunk's window of X, after applying the producer and with
zeros outside of the sequence, and its weights to shared memory; then a multiplier adds their
product to sums in registers. Two kinds of tiles differ in the multiplier, and in their sizes: each
thread multiplies by itself (`scalar_tile`), or tensor cores do (`tensor_core_tile`).

With `slices`, groups of warps take turns with the chunks, and the multiplier combines their sums.
With `stages`, the weights of a chunk are copied and multiplied in groups of taps, one after the
other: many taps then fit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from tvm import tirx

from ..common.operand_precision import Precision, to_parts
from .producer import NOTHING, Producer, channel_function
from .threads import (
    WARP,
    Buffer,
    Expr,
    T,
    bind,
    ceil_div,
    const,
    hold,
    i32,
    launch,
    shared,
    store,
    synchronize,
)

DEEP = 512
"""From this number of input channels on, sequences are assumed to be short."""

Store = Callable[[Expr, Expr, Expr, Expr], None]
"""(batch row, row m, column l, total): writes one sum; m and l are within bounds."""


@dataclass(frozen=True)
class Place:
    """Where a thread is: its lane and warp, its group of warps, and the shared memory of that."""

    lane: Expr
    warp: Expr
    part: Expr
    window: Buffer
    window_start: Expr
    panel: Buffer
    panel_start: Expr


class Multiplier(ABC):
    """The sums of a thread, and what adds to them; making one zeroes them."""

    @abstractmethod
    def put(self, index: int, value: Expr, to: Expr) -> None:
        """Keep number `index` of a word of the window; each word is followed by `end_word`."""

    def end_word(self, to: Expr) -> None:  # noqa: B027
        """Write the kept word to the window."""

    @abstractmethod
    def multiply(self, stage: Expr) -> None:
        """Add the product of the window and the panel, which has a stage's taps, to the sums."""

    @abstractmethod
    def write(self, write: Callable[[Expr, Expr, Expr], None]) -> None:
        """Call `write(row of the block, column of the block, total)` for each sum."""


@dataclass(frozen=True)
class Geometry:
    """A product of `rows` (output channels) by columns (time)."""

    rows: int
    in_channels: int
    taps: int
    stride: int = 1
    dilation: int = 1
    pad_left: int = 0

    @property
    def is_deep(self) -> bool:
        """Whether the sum is shared by groups of warps, since there are too few sums for a GPU."""
        return self.in_channels >= DEEP and self.rows < 4 * DEEP

    def window(self, columns: int) -> int:
        """Samples of one channel that neighbouring columns read."""
        return (columns - 1) * self.stride + (self.taps - 1) * self.dilation + 1


@dataclass(frozen=True)
class ProductTile:
    """How a product is tiled; x is of `dtype`, which is float32 with a reduced `precision`."""

    geometry: Geometry
    multiplier: Callable[[ProductTile, Place], Multiplier]
    """Emits the sums of a thread, zeroed."""
    block_rows: int
    block_columns: int
    warps: int
    """Warps of a slice."""
    chunk: int
    """Words of input channels that a slice keeps in shared memory at a time."""
    window_pitch: int
    panel_pitch: int
    """Words of samples and of weights in shared memory per part of a word of channels."""
    slices: int = 1
    """Groups of warps, each with its own chunks of the input channels."""
    dtype: str = "float32"
    precision: Precision = Precision.FLOAT32
    stages: int = 1
    """Groups of taps; the panel has the weights of one at a time."""

    @property
    def weight_dtype(self) -> str:
        """The dtype of the words in shared memory."""
        return self.dtype if self.precision is Precision.FLOAT32 else "uint32"

    @property
    def blocks(self) -> int:
        return -(-self.geometry.rows // self.block_rows)

    @property
    def turns(self) -> int:
        """Chunks per slice."""
        channels = self.chunk * self.precision.per_word * self.slices
        return -(-self.geometry.in_channels // channels)

    @property
    def chunks(self) -> int:
        return self.turns * self.slices

    @property
    def stage_taps(self) -> int:
        """Taps of a stage; the last one may have fewer."""
        return -(-self.geometry.taps // self.stages)

    @property
    def panel_words(self) -> int:
        """Words of the weights of a stage in shared memory, for one slice."""
        return self.precision.parts * self.chunk * self.panel_pitch

    @property
    def weight_shape(self) -> tuple[int, int]:
        return self.blocks, self.chunks * self.stages * self.panel_words

    def pack(self, weight: np.ndarray) -> np.ndarray:
        """Pack a weight [rows, in_channels, taps] into `weight_shape`, padded with 0.

        The order is block, chunk, stage, part, word of channels, tap, row.
        """
        rows, channels, taps = weight.shape
        parts, per_word = self.precision.parts, self.precision.per_word
        words, all_rows = self.chunks * self.chunk, self.blocks * self.block_rows
        padded = np.zeros((words * per_word, all_rows, self.stages * self.stage_taps), self.dtype)
        padded[:channels, :rows, :taps] = weight.transpose(1, 0, 2)
        reduced = self.precision is not Precision.FLOAT32
        split = to_parts(padded, self.precision) if reduced else padded[None]
        split = split.reshape(
            *(parts, self.chunks, self.chunk, self.blocks, self.block_rows, self.stages, -1)
        ).transpose(3, 1, 5, 0, 2, 6, 4)
        outer = split.shape[:5]
        result = np.zeros((*outer, self.panel_pitch), self.weight_dtype)
        result[..., : self.stage_taps * self.block_rows] = split.reshape(*outer, -1)
        return result.reshape(self.weight_shape)

    def emit(
        self,
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

        `x` is of `dtype`, `weights` as packed by `pack`.
        """
        geometry, per_word = self.geometry, self.precision.per_word
        C, samples = geometry.in_channels, geometry.window(self.block_columns)
        # Load 16 bytes at a time; float64 values, which are not time-critical, one by one.
        vector = 1 if self.weight_dtype == "float64" else 4
        panel_words = self.panel_words
        grid = [ceil_div(columns, self.block_columns), self.blocks, batch]
        block = [WARP, self.warps, *([self.slices] if self.slices > 1 else [])]
        # Launches with slices never have many blocks. Parts take more registers.
        resident = 4 // self.precision.parts if self.slices > 1 else None
        with launch(grid, block, resident) as (
            (column_block, row_block, b),
            (lane, warp, *slice_index),
        ):
            part = slice_index[0] if slice_index else i32(0)
            window_words = self.precision.parts * self.chunk * self.window_pitch
            window = shared(self.slices * window_words, self.weight_dtype)
            meeting_words = (self.slices - 1) * self.block_rows * self.block_columns
            panel = shared(max(self.slices * panel_words, meeting_words), self.weight_dtype)
            window_start, part_panel = part * window_words, part * panel_words
            place = Place(lane, warp, part, window, window_start, panel, part_panel)
            multiplier = self.multiplier(self, place)
            first = bind(column_block * (self.block_columns * geometry.stride) - geometry.pad_left)
            panel_start = row_block * (self.chunks * self.stages * panel_words)

            def load_window(chunk: Expr) -> None:
                rounds = -(-self.chunk // self.warps)
                with T.serial(i32(0), i32(rounds)) as turn:
                    slot = bind(turn * self.warps + warp)
                    with T.If(slot < self.chunk), T.Then():
                        start = bind((chunk * self.chunk + slot) * per_word)
                        load_channels(slot, [start + i for i in range(per_word)])

            def load_channels(slot: Expr, channels: Sequence[Expr]) -> None:
                existing = [bind(tirx.min(c, i32(C - 1))) for c in channels]
                functions = [
                    channel_function(producer, coefficients, C, b, channel) for channel in existing
                ]
                starts = [bind((b * C + channel) * length) for channel in existing]
                with T.serial(i32(0), i32(-(-samples // WARP))) as j:
                    offset = bind(j * WARP + lane)
                    with T.If(offset < samples), T.Then():
                        position = bind(first + offset)
                        to = window_start + slot * self.window_pitch + offset
                        for i, c in enumerate(channels):
                            with T.If(tirx.all(c < C, position >= 0, position < length)):
                                with T.Then():
                                    multiplier.put(i, functions[i](x[starts[i] + position]), to)
                                with T.Else():
                                    multiplier.put(i, const(0, self.dtype), to)
                        multiplier.end_word(to)

            def load_panel(number: Expr) -> None:
                """Copy panel `number` of the row block, which has `stages` for each chunk."""
                start = bind(panel_start + number * panel_words)
                stride = self.warps * WARP * vector
                with T.serial(i32(0), i32(-(-panel_words // stride))) as j:
                    offset = bind(j * stride + (warp * WARP + lane) * vector)
                    exists = offset < panel_words
                    with T.If(exists), T.Then(), T.vectorized(i32(0), i32(vector)) as v:
                        store(panel, part_panel + offset + v, weights[start + offset + v])

            def write_existing(row: Expr, column: Expr, total: Expr) -> None:
                m = bind(row_block * self.block_rows + row)
                at = bind(column_block * self.block_columns + column)
                with T.If(tirx.And(m < geometry.rows, at < columns)), T.Then():
                    write(b, m, at, hold(total, self.dtype))

            with T.serial(i32(0), i32(self.turns)) as turn:
                chunk = bind(turn * self.slices + part)
                if self.stages == 1:
                    synchronize()
                    load_window(chunk)
                    load_panel(chunk)
                    synchronize()
                    multiplier.multiply(i32(0))
                else:
                    with T.serial(i32(0), i32(self.stages)) as stage:
                        synchronize()
                        with T.If(stage == 0), T.Then():
                            load_window(chunk)
                        load_panel(chunk * self.stages + stage)
                        synchronize()
                        multiplier.multiply(stage)
            multiplier.write(write_existing)
