"""The tile that all convolutions are based on: an implicit matrix product in shared memory.

    total[m, l] = sum_{ci, k} W[m, ci, k] X[ci, l * stride + k * dilation - pad_left]

A block of threads computes `block_rows` rows m and `block_columns` columns l. It iterates over the
input channels in chunks (`tiled_product`): a chunk's window of X, after the producer and with zeros
outside of the sequence, and its weights come to shared memory; then a multiplier adds their product
to sums in registers. Two kinds of tiles differ in the multiplier, and in their sizes: each thread
multiplies by itself (`scalar_tile`), or tensor cores do (`tensor_core_tile`).

The tiles of a product share its packed weights (`WeightOrder`), so that a kernel can choose among
them by the number of columns: large blocks read less, and small ones keep a GPU busy with few
columns.

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
class WeightOrder:
    """The order of a product's weights in memory, which all of its tiles read.

    Rows come in units of `unit_rows`, and channels in groups of `group` words. A unit has, for each
    group, tap and part, the words of the group by the rows of the unit. In units of more than 8
    rows, place p of a word has row p ^ 8 (word % 4): lanes that read 8 neighbours of each of 4
    words then read 32 different banks.
    """

    geometry: Geometry
    unit_rows: int
    group: int
    dtype: str = "float32"
    """That of the input. Weights are of this dtype, or, with a reduced precision, packed words."""
    precision: Precision = Precision.FLOAT32

    @property
    def word_dtype(self) -> str:
        return self.dtype if self.precision is Precision.FLOAT32 else "uint32"

    @property
    def units(self) -> int:
        return -(-self.geometry.rows // self.unit_rows)

    @property
    def tap_words(self) -> int:
        """Words of a tap of a group of a unit."""
        return self.precision.parts * self.group * self.unit_rows

    @property
    def group_words(self) -> int:
        """Words of a group of a unit."""
        return self.geometry.taps * self.tap_words

    def shape(self, channels: int) -> tuple[int, int]:
        """The shape of weights of `channels` input channels, a multiple of a group's."""
        return self.units, channels // (self.group * self.precision.per_word) * self.group_words

    def pack(self, weight: np.ndarray, channels: int) -> np.ndarray:
        """Pack a weight [rows, in_channels, taps] into `shape(channels)`, padded with 0."""
        rows, in_channels, taps = weight.shape
        padded = np.zeros((channels, self.units * self.unit_rows, taps), self.dtype)
        padded[:in_channels, :rows] = weight.transpose(1, 0, 2)
        reduced = self.precision is not Precision.FLOAT32
        parts = to_parts(padded, self.precision) if reduced else padded[None]
        split = parts.reshape(
            self.precision.parts, -1, self.group, self.units, self.unit_rows, taps
        ).transpose(3, 1, 5, 0, 2, 4)
        result = split.copy()
        if self.unit_rows > 8:
            places = np.arange(self.unit_rows)
            for word in range(self.group):
                result[..., word, :] = split[..., word, places ^ 8 * (word % 4)]
        return result.reshape(self.shape(channels))


@dataclass(frozen=True)
class ProductTile:
    """How a product is tiled."""

    weights: WeightOrder
    multiplier: Callable[[ProductTile, Place], Multiplier]
    """Emits the sums of a thread, zeroed."""
    block_rows: int
    block_columns: int
    warps: int
    """Warps of a slice."""
    chunk: int
    """Words of input channels that a slice keeps in shared memory at a time."""
    window_pitch: int
    """Words between channels of the window, per part."""
    slices: int = 1
    """Groups of warps, each with its own chunks of the input channels."""
    stages: int = 1
    """Groups of taps; the panel has the weights of one at a time."""

    @property
    def geometry(self) -> Geometry:
        return self.weights.geometry

    @property
    def dtype(self) -> str:
        """The dtype of the input."""
        return self.weights.dtype

    @property
    def precision(self) -> Precision:
        return self.weights.precision

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
    def units(self) -> int:
        """Units of rows of a block."""
        return self.block_rows // self.weights.unit_rows

    @property
    def groups(self) -> int:
        """Groups of words of a chunk."""
        return self.chunk // self.weights.group

    @property
    def stage_words(self) -> int:
        """Words of a stage of a group of a unit."""
        return self.stage_taps * self.weights.tap_words

    @property
    def panel_words(self) -> int:
        """Words of the weights of a stage in shared memory, for one slice.

        Their order is: unit, group, tap of the stage, and then as in memory.
        """
        return self.units * self.groups * self.stage_words

    @property
    def channels(self) -> int:
        """Input channels, padded to whole chunks."""
        return self.chunks * self.chunk * self.precision.per_word
