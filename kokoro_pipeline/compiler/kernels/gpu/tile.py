"""The tile that all convolutions are based on: an implicit matrix product in shared memory.

    total[m, l] = sum_{ci, k} W[m, ci, k] X[ci, l * stride + k * dilation - pad_left]

A block of threads computes `block_rows` rows m and `block_columns` columns l. It iterates over the
input channels in chunks (`tiled_product`): a chunk's window of X, after the producer and with zeros
outside of the sequence, and its weights come to shared memory; then a multiplier adds their product
to sums in registers. Two kinds of tiles differ in the multiplier, and in their sizes: each thread
multiplies by itself (`scalar_tile`), or tensor cores do (`tensor_core_tile`).

With `slices`, groups of warps take turns with the chunks, and the multiplier combines their sums.
With `stages`, the weights of a chunk are copied and multiplied in groups of taps, one after the
other: many taps then fit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..common.operand_precision import Precision, to_parts
from .threads import Buffer, Expr

DEEP = 512
"""From this number of input channels on, sequences are assumed to be short."""


@dataclass(frozen=True)
class Place:
    """Where a thread is: its lane and warp, its group of warps, and the shared memory of that."""

    lane: Expr
    warp: Expr
    part: Expr
    window: Buffer
    window_start: Expr
    panel: Buffer


class Multiplier(ABC):
    """The sums of a thread, and what adds to them; making one zeroes them."""

    @abstractmethod
    def put(self, index: int, value: Expr, to: Expr) -> None:
        """Keep number `index` of a word of the window; each word is followed by `end_word`."""

    def end_word(self, to: Expr) -> None:  # noqa: B027
        """Write the kept word to the window."""

    @abstractmethod
    def multiply(self, stage: Expr, panel_start: Expr) -> None:
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
    def samples(self) -> int:
        """Samples of a channel in the window."""
        return self.geometry.window(self.block_columns)

    @property
    def is_asynchronous(self) -> bool:
        """Whether weights are copied to shared memory while the block multiplies."""
        return self.precision is not Precision.FLOAT32

    @property
    def panel_buffers(self) -> int:
        """Panels in shared memory: with asynchronous copies, one is written as another is read."""
        return 2 if self.is_asynchronous else 1

    def chunk_of(self, turn: Expr, part: Expr) -> Expr:
        """The number of the chunk that slice `part` takes in a turn."""
        return turn * self.slices + part

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
