"""Linear layers: Y[M, N] = X[M, K] W[N, K]^T + bias.

A block of threads computes a few rows and features, and each of its warps sums over its own share
of K: a short text has few rows, and a GPU is busy only if many warps share them. A lane computes
one feature, or two, of all rows of the block. It asks for its weights of a turn at once and keeps
them in registers; no other warp of the block uses them. The rows of X come through shared memory,
where all lanes of a warp read the same words. The sums of the warps are added in shared memory,
always in the same order. Rows that do not exist are read as 0.

Many rows are computed by larger blocks, which read the weights less often. Both kinds of blocks
take the same packed weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import tirx

from .threads import (
    ENOUGH_BLOCKS,
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

WARPS = 8
VECTOR = 4  # features of K that are read at a time
MAX_CHUNK = 32  # features of K of a warp per turn


@dataclass(frozen=True)
class LinearTile:
    """A block of `rows` rows by `columns` features per lane, for sums over `in_features`."""

    in_features: int
    out_features: int
    rows: int = 8
    columns: int = 1

    @property
    def turns(self) -> int:
        return -(-self.in_features // (WARPS * MAX_CHUNK))

    @property
    def chunk(self) -> int:
        """Features of K of a warp per turn."""
        return -(-self.in_features // (VECTOR * WARPS * self.turns)) * VECTOR

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the packed weight, which depends on neither `rows` nor `columns`."""
        return -(-self.out_features // WARP), self.turns * WARPS * self.chunk * WARP

    @property
    def column_blocks(self) -> int:
        return -(-self.shape[0] // self.columns)

    def row_blocks(self, rows: Expr) -> Expr:
        return ceil_div(rows, self.rows)


def pack_linear(weight: np.ndarray) -> np.ndarray:
    """Pack PyTorch's weight [N, K] into float32 [blocks of N, (K / 4) * 32 * 4].

    The order within a block is: four features of K, feature of the block, feature of K. N and K
    are padded with 0 to whole blocks and turns.
    """
    out_features, in_features = weight.shape
    blocks, words = LinearTile(in_features, out_features).shape
    padded = np.zeros((blocks * WARP, words // WARP), np.float32)
    padded[:out_features, :in_features] = weight
    split = padded.reshape(blocks, WARP, -1, VECTOR).transpose(0, 2, 1, 3)
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
    """Thread `lane` of warp `warp` of the block for `tile.rows` rows from row `first` on."""

    def __init__(
        self, tile: LinearTile, arguments: Arguments, place: list[Expr], thread: list[Expr]
    ):
        """Emit the memory of the thread and of its block, with sums of 0."""
        self.tile, self.arguments = tile, arguments
        (self.column_block, row_block), (self.lane, self.warp) = place, thread
        self.first = bind(row_block * tile.rows)
        rows, chunk = tile.rows, tile.chunk
        sums = WARPS * rows * WARP * tile.columns
        self.memory = shared(max(WARPS * rows * chunk, sums))
        self.rows_at = bind(self.warp * (rows * chunk))
        self.copies = -(-rows * chunk // WARP)
        self.ahead = registers(self.copies)
        self.weights = registers(tile.columns * chunk)
        self.left = registers(rows * VECTOR)
        self.totals = registers(rows * tile.columns)
        for i in range(rows * tile.columns):
            store(self.totals, i, const(0))

    def emit(self) -> None:
        """Sum the share of the warp, then the shares of all warps, and write y."""
        with T.serial(i32(0), i32(self.tile.turns)) as turn:
            start = bind((turn * WARPS + self.warp) * self.tile.chunk)
            self.fetch(start)
            synchronize()
            self.place(start)
            synchronize()
            self.multiply()
        synchronize()
        self.share_sums()
        synchronize()
        self.write()

    def fetch(self, start: Expr) -> None:
        """Ask for the features of K from `start` on, of the rows and of the lane's weights.

        Places are clamped: nothing is read ahead of a branch.
        """
        tile, x, w = self.tile, self.arguments.x, self.arguments.w
        for i in range(self.copies):
            row = tirx.min(self.row(i), self.arguments.rows - 1)
            k = tirx.min(start + self.feature(i), i32(tile.in_features - 1))
            store(self.ahead, i, x[row * tile.in_features + k])
        blocks, words = tile.shape
        for j in range(tile.columns):
            block = tirx.min(self.column_block * tile.columns + j, i32(blocks - 1))
            first = bind(block * words + (start * WARP + self.lane * VECTOR))
            for k in range(0, tile.chunk, VECTOR):
                with T.vectorized(i32(0), i32(VECTOR)) as v:
                    store(self.weights, j * tile.chunk + k + v, w[first + k * WARP + v])

    def row(self, i: int) -> Expr:
        """The row of number `i` of the values that the lane copies."""
        return self.first + div(i * WARP + self.lane, self.tile.chunk)

    def feature(self, i: int) -> Expr:
        """Its feature of K, counted from the first of the warp."""
        return mod(i * WARP + self.lane, self.tile.chunk)

    def place(self, start: Expr) -> None:
        """Give the rows that were asked for to the warp, with zeros for what does not exist."""
        tile, values = self.tile, self.tile.rows * self.tile.chunk
        for i in range(self.copies):
            row, k = self.row(i), start + self.feature(i)
            exists = tirx.And(row < self.arguments.rows, k < tile.in_features)
            value = tirx.Select(exists, self.ahead[i32(i)], const(0))
            at = i * WARP + self.lane
            if (i + 1) * WARP <= values:
                store(self.memory, self.rows_at + at, value)
            else:
                with T.If(at < values), T.Then():
                    store(self.memory, self.rows_at + at, value)

    def multiply(self) -> None:
        """Add the products of the features of the turn."""
        tile = self.tile
        for k in range(0, tile.chunk, VECTOR):
            for row in range(tile.rows):
                with T.vectorized(i32(0), i32(VECTOR)) as v:
                    at = self.rows_at + (row * tile.chunk + k) + v
                    store(self.left, row * VECTOR + v, self.memory[at])
            for each in range(VECTOR):
                for row in range(tile.rows):
                    for j in range(tile.columns):
                        weight = self.weights[i32(j * tile.chunk + k + each)]
                        product = self.left[i32(row * VECTOR + each)] * weight
                        add_to(self.totals, row * tile.columns + j, product)

    def share_sums(self) -> None:
        """Put the sums of the warp into the memory of the rows: [warp, row, column, lane]."""
        count = self.tile.rows * self.tile.columns
        for i in range(count):
            store(self.memory, (self.warp * count + i) * WARP + self.lane, self.totals[i32(i)])

    def write(self) -> None:
        """Add the sums of all warps in their order, and write the rows and features that exist.

        A warp takes every eighth of the rows.
        """
        tile, arguments = self.tile, self.arguments
        count = tile.rows * tile.columns
        total = registers(1)
        for j in range(tile.columns):
            column = bind((self.column_block * tile.columns + j) * WARP + self.lane)
            for first in range(0, tile.rows, WARPS):
                i = self.warp + first
                row = bind(self.first + i)
                exists = tirx.And(row < arguments.rows, column < tile.out_features)
                with T.If(exists), T.Then():
                    store(total, 0, const(0))
                    with T.serial(i32(0), i32(WARPS)) as warp:
                        at = (warp * count + i * tile.columns + j) * WARP + self.lane
                        add_to(total, 0, self.memory[at])
                    added = const(0) if arguments.bias is None else hold(arguments.bias[column])
                    store(arguments.y, row * tile.out_features + column, total[i32(0)] + added)


def linear(in_features: int, out_features: int, bias: bool = False) -> tirx.PrimFunc:
    """The kernel (x, weight[, bias]) -> y.

    All arguments are float32: x [M, K]; weight as packed by `pack_linear`; bias [N]; y [M, N]. M is
    at least 1.
    """
    K, N = in_features, out_features
    small, large = LinearTile(K, N), LinearTile(K, N, 16, 2)
    rows_all = tirx.Var("M", "int64")

    def body(x: Buffer, w: Buffer, *rest: Buffer) -> None:
        *added, y = rest
        rows = bind(i32(rows_all))
        arguments = Arguments(x, w, added[0] if bias else None, y, rows)

        def compute(tile: LinearTile) -> None:
            grid = [tile.column_blocks, tile.row_blocks(rows)]
            with launch(grid, [WARP, WARPS], resident=2) as (place, thread):
                LinearBlock(tile, arguments, place, thread).emit()

        with T.If(large.row_blocks(rows) * large.column_blocks < 2 * ENOUGH_BLOCKS):
            with T.Then():
                compute(small)
            with T.Else():
                compute(large)

    return build_kernel(
        f"gpu_linear_{K}x{N}" + "_bias" * bias,
        [
            Parameter("x", (rows_all, K)),
            Parameter("w", small.shape),
            *([Parameter("bias", (N,))] if bias else []),
            Parameter("y", (rows_all, N)),
        ],
        body,
    )
