"""Linear layers: Y[M, N] = X[M, K] W[N, K]^T + bias, with tiles in shared memory.

A block of threads computes `BLOCK_ROWS` rows and `WARP * columns` features. Both are small: rows
are tokens or frames, and otherwise a short text would have fewer tiles than the GPU has
multiprocessors. The warps of a block form slices, each of which iterates over its own chunks of K.
The rows of X, transposed so that the rows of a thread are adjacent, and the panel of weights are
copied to shared memory; then each thread accumulates ROWS by `columns` sums in registers, while the
values of the next chunk are on their way. The sums of the slices are combined in shared memory,
always in the same order. Rows that do not exist are read as 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import tirx

from .threads import (
    WARP,
    Buffer,
    Expr,
    Parameter,
    T,
    add_to,
    bind,
    build_kernel,
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

ROWS, WARPS = 8, 2  # rows per thread, warps per slice
BLOCK_ROWS = ROWS * WARPS
THREADS = WARP * WARPS  # of a slice
CHUNK = WARP  # features of K per chunk, one per lane
TURNED = BLOCK_ROWS + 4  # words between columns of the chunk: fewer bank conflicts, 16-byte aligned
WIDE = 2048
"""From this number of features on, there are enough blocks for two columns per thread."""


@dataclass(frozen=True)
class LinearTile:
    """How a product with `out_features` columns and sums over `in_features` is tiled."""

    in_features: int
    out_features: int

    @property
    def columns(self) -> int:
        """Columns per thread."""
        return 2 if self.out_features >= WIDE else 1

    @property
    def slices(self) -> int:
        """Groups of warps, each with its own chunks of K."""
        return 4 // self.columns

    @property
    def block_columns(self) -> int:
        return WARP * self.columns

    @property
    def turns(self) -> int:
        """Chunks per slice."""
        return -(-self.in_features // (CHUNK * self.slices))

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the packed weight."""
        padded = self.turns * self.slices * CHUNK
        return -(-self.out_features // self.block_columns), padded * self.block_columns


def pack_linear(weight: np.ndarray) -> np.ndarray:
    """Pack PyTorch's weight [N, K] into float32 [blocks of N, K * features of a block].

    N and K are padded with 0 to whole blocks and chunks.
    """
    out_features, in_features = weight.shape
    tile = LinearTile(in_features, out_features)
    blocks, words = tile.shape
    padded = np.zeros((blocks * tile.block_columns, words // tile.block_columns), np.float32)
    padded[:out_features, :in_features] = weight
    split = padded.reshape(blocks, tile.block_columns, -1).transpose(0, 2, 1)
    return np.ascontiguousarray(split).reshape(blocks, words)


@dataclass(frozen=True)
class Arguments:
    """The arguments of a kernel, see `linear`, and the number of rows."""

    x: Buffer
    w: Buffer
    bias: Buffer | None
    y: Buffer
    rows: Expr


class LinearBlock:
    """A thread of the block that computes `BLOCK_ROWS` rows and `block_columns` features.

    It is thread `lane` of a warp, and its slice is number `part`. It sums `ROWS` rows from row
    `first` on, those of its warp, and every 32nd of the features from `lane` on.
    """

    def __init__(
        self, tile: LinearTile, arguments: Arguments, place: list[Expr], thread: list[Expr]
    ):
        """Emit the memory of the thread and of its block, with sums of 0."""
        self.tile, self.arguments = tile, arguments
        (self.column_block, row_block), (self.lane, warps) = place, thread
        self.part, self.warp = bind(div(warps, WARPS)), bind(mod(warps, WARPS))
        width, columns = tile.block_columns, tile.columns
        self.turned = shared(tile.slices * CHUNK * TURNED)
        self.panel = shared(tile.slices * CHUNK * width)
        self.totals = registers(ROWS * columns)
        self.left = registers(ROWS)
        self.right = registers(columns)
        self.rows_at = self.part * (CHUNK * TURNED) + self.warp * ROWS
        self.panel_at = self.part * (CHUNK * width)
        for i in range(ROWS * columns):
            store(self.totals, i, const(0))
        self.first = bind(row_block * BLOCK_ROWS + self.warp * ROWS)
        self.copies = CHUNK * width // (4 * THREADS)
        self.rows_ahead, self.panel_ahead = registers(ROWS), registers(4 * self.copies)
        self.here = bind((self.warp * WARP + self.lane) * 4)

    @property
    def sums(self) -> list[tuple[int, int]]:
        """The sums of a thread: (its row, its column)."""
        return [(i, j) for i in range(ROWS) for j in range(self.tile.columns)]

    def total(self, i: int, j: int) -> Expr:
        """A sum."""
        return self.totals[i32(i * self.tile.columns + j)]

    def add(self, i: int, j: int, value: Expr) -> None:
        """Add to a sum."""
        add_to(self.totals, i * self.tile.columns + j, value)

    def emit(self) -> None:
        """Sum all chunks of the slice, then the slices, and write y."""
        self.fetch(i32(0))
        with T.serial(i32(0), i32(self.tile.turns)) as turn:
            synchronize()
            self.load_operands(turn)
            synchronize()
            self.fetch(turn + 1)
            self.multiply()
        synchronize()
        with T.If(self.part > 0), T.Then():
            self.share_partial_sums()
        synchronize()
        with T.If(self.part == 0), T.Then():
            self.combine()
            self.write()

    def fetch(self, turn: Expr) -> None:
        """Ask for a chunk: the feature `lane` of the thread's rows, and its share of the weights.

        Places are clamped: nothing is read ahead of a branch.
        """
        tile, x, w = self.tile, self.arguments.x, self.arguments.w
        words, width = tile.shape[1], tile.block_columns
        chunk = bind(turn * tile.slices + self.part)
        k = bind(tirx.min(chunk * CHUNK + self.lane, i32(tile.in_features - 1)))
        for i in range(ROWS):
            row = tirx.min(self.first + i, self.arguments.rows - 1)
            store(self.rows_ahead, i, x[row * tile.in_features + k])
        last = i32(words - CHUNK * width)
        start = self.column_block * words + tirx.min(chunk * (CHUNK * width), last)
        for j in range(self.copies):
            with T.vectorized(i32(0), i32(4)) as v:
                store(self.panel_ahead, 4 * j + v, w[start + j * THREADS * 4 + self.here + v])

    def load_operands(self, turn: Expr) -> None:
        """Give the chunk that was asked for to the block, with zeros for what does not exist."""
        tile, first = self.tile, self.first
        k = bind((turn * tile.slices + self.part) * CHUNK + self.lane)
        for i in range(ROWS):
            exists = tirx.And(first + i < self.arguments.rows, k < tile.in_features)
            value = tirx.Select(exists, self.rows_ahead[i32(i)], const(0))
            store(self.turned, self.rows_at + self.lane * TURNED + i, value)
        for j in range(self.copies):
            with T.vectorized(i32(0), i32(4)) as v:
                to = self.panel_at + j * THREADS * 4 + self.here + v
                store(self.panel, to, self.panel_ahead[4 * j + v])

    def multiply(self) -> None:
        """Add the products of the chunk that the block holds."""
        width = self.tile.block_columns
        with T.serial(i32(0), i32(CHUNK)) as c:
            for row in range(0, ROWS, 4):
                with T.vectorized(i32(0), i32(4)) as v:
                    at = self.rows_at + c * TURNED + row + v
                    store(self.left, row + v, self.turned[at])
            for j in range(self.tile.columns):
                at = self.panel_at + c * width + j * WARP + self.lane
                store(self.right, j, self.panel[at])
            for i, j in self.sums:
                self.add(i, j, self.left[i32(i)] * self.right[i32(j)])

    def place(self, i: int, j: int) -> Expr:
        """Where a sum lies among those of a slice."""
        return (self.warp * ROWS + i) * self.tile.block_columns + j * WARP + self.lane

    def share_partial_sums(self) -> None:
        """Put the sums of a slice, other than the first, into the memory of the panel."""
        start = (self.part - 1) * (BLOCK_ROWS * self.tile.block_columns)
        for i, j in self.sums:
            store(self.panel, start + self.place(i, j), self.total(i, j))

    def combine(self) -> None:
        """Add the sums of the other slices, in their order."""
        with T.serial(i32(0), i32(self.tile.slices - 1)) as other:
            start = other * (BLOCK_ROWS * self.tile.block_columns)
            for i, j in self.sums:
                self.add(i, j, self.panel[start + self.place(i, j)])

    def write(self) -> None:
        """Write the rows and features that exist, with the bias."""
        bias, y, features = self.arguments.bias, self.arguments.y, self.tile.out_features
        for j in range(self.tile.columns):
            column = bind(self.column_block * self.tile.block_columns + j * WARP + self.lane)
            with T.If(column < features), T.Then():
                added = const(0) if bias is None else hold(bias[column])
                for i in range(ROWS):
                    with T.If(self.first + i < self.arguments.rows), T.Then():
                        store(y, (self.first + i) * features + column, self.total(i, j) + added)


def linear(in_features: int, out_features: int, bias: bool = False) -> tirx.PrimFunc:
    """The kernel (x, weight[, bias]) -> y.

    All arguments are float32: x [M, K]; weight as packed by `pack_linear`; bias [N]; y [M, N]. M is
    at least 1.
    """
    K, N = in_features, out_features
    tile = LinearTile(K, N)
    blocks, words = tile.shape
    rows_all = tirx.Var("M", "int64")

    def body(x: Buffer, w: Buffer, *rest: Buffer) -> None:
        *added, y = rest
        rows = bind(i32(rows_all))
        arguments = Arguments(x, w, added[0] if bias else None, y, rows)
        grid = [blocks, ceil_div(rows, BLOCK_ROWS)]
        with launch(grid, [WARP, WARPS * tile.slices]) as (place, thread):
            LinearBlock(tile, arguments, place, thread).emit()

    return build_kernel(
        f"gpu_linear_{K}x{N}" + "_bias" * bias,
        [
            Parameter("x", (rows_all, K)),
            Parameter("w", (blocks, words)),
            *([Parameter("bias", (N,))] if bias else []),
            Parameter("y", (rows_all, N)),
        ],
        body,
    )
