"""Linear layers: Y[M, N] = X[M, K] W[N, K]^T + bias, with tiles in shared memory.

A block of threads computes `BLOCK_ROWS` rows and `WARP * columns` features. Both are small: rows
are tokens or frames, and otherwise a short text would have fewer tiles than the GPU has processors.
The warps of a block form slices, each of which iterates over its own chunks of K. The rows of X,
transposed so that the rows of a thread are adjacent, and the panel of weights are copied to shared
memory; then each thread accumulates ROWS by `columns` sums in registers, while the values of the
next chunk are on their way. The sums of the slices are combined in shared memory, always in the
same order. Rows that do not exist are read as 0.
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


def linear(in_features: int, out_features: int, bias: bool = False) -> tirx.PrimFunc:
    """The kernel (x, weight[, bias]) -> y.

    All arguments are float32: x [M, K]; weight as packed by `pack_linear`; bias [N]; y [M, N]. M is
    at least 1.
    """
    K, N = in_features, out_features
    tile = LinearTile(K, N)
    blocks, words = tile.shape
    columns, width = tile.columns, tile.block_columns
    block_sums = BLOCK_ROWS * width
    rows_all = tirx.Var("M", "int64")

    def body(x: Buffer, w: Buffer, *rest: Buffer) -> None:
        *added, y = rest
        M = bind(i32(rows_all))
        grid = [blocks, ceil_div(M, BLOCK_ROWS)]
        with launch(grid, [WARP, WARPS * tile.slices]) as ((column_block, row_block), (lane, any_)):
            part, warp = bind(div(any_, WARPS)), bind(mod(any_, WARPS))
            turned = shared(tile.slices * CHUNK * TURNED)
            panel = shared(tile.slices * CHUNK * width)
            totals = registers(ROWS * columns)
            left = registers(ROWS)
            right = registers(columns)
            rows_at = part * (CHUNK * TURNED) + warp * ROWS
            panel_at = part * (CHUNK * width)
            for i in range(ROWS * columns):
                store(totals, i, const(0))
            first = bind(row_block * BLOCK_ROWS + warp * ROWS)
            threads = WARP * WARPS
            copies = CHUNK * width // (4 * threads)
            rows_ahead, panel_ahead = registers(ROWS), registers(4 * copies)
            here = bind((warp * WARP + lane) * 4)
            last_panel = tile.shape[1] - CHUNK * width

            def fetch(turn: Expr) -> None:
                """Ask for a chunk. Places are clamped: nothing is read ahead of a branch."""
                chunk = bind(turn * tile.slices + part)
                k = bind(tirx.min(chunk * CHUNK + lane, i32(K - 1)))
                for i in range(ROWS):
                    store(rows_ahead, i, x[tirx.min(first + i, M - 1) * K + k])
                start = column_block * words + tirx.min(chunk * (CHUNK * width), i32(last_panel))
                for j in range(copies):
                    with T.vectorized(i32(0), i32(4)) as v:
                        store(panel_ahead, 4 * j + v, w[start + j * threads * 4 + here + v])

            fetch(i32(0))
            with T.serial(i32(0), i32(tile.turns)) as turn:
                synchronize()
                k = bind((turn * tile.slices + part) * CHUNK + lane)
                for i in range(ROWS):
                    value = tirx.Select(
                        tirx.And(first + i < M, k < K), rows_ahead[i32(i)], const(0)
                    )
                    store(turned, rows_at + lane * TURNED + i, value)
                for j in range(copies):
                    with T.vectorized(i32(0), i32(4)) as v:
                        to = panel_at + j * threads * 4 + here + v
                        store(panel, to, panel_ahead[4 * j + v])
                synchronize()
                fetch(turn + 1)
                with T.serial(i32(0), i32(CHUNK)) as c:
                    for row in range(0, ROWS, 4):
                        with T.vectorized(i32(0), i32(4)) as v:
                            store(left, row + v, turned[rows_at + c * TURNED + row + v])
                    for j in range(columns):
                        store(right, j, panel[panel_at + c * width + j * WARP + lane])
                    for i in range(ROWS):
                        for j in range(columns):
                            add_to(totals, i * columns + j, left[i32(i)] * right[i32(j)])

            def place(i: int, j: int) -> Expr:
                """Offset of sum (i, j) within its block."""
                return (warp * ROWS + i) * width + j * WARP + lane

            sums = [(i, j) for i in range(ROWS) for j in range(columns)]
            synchronize()
            with T.If(part > 0), T.Then():
                for i, j in sums:
                    total = totals[i32(i * columns + j)]
                    store(panel, (part - 1) * block_sums + place(i, j), total)
            synchronize()
            with T.If(part == 0), T.Then():
                with T.serial(i32(0), i32(tile.slices - 1)) as other:
                    for i, j in sums:
                        add_to(totals, i * columns + j, panel[other * block_sums + place(i, j)])
                for j in range(columns):
                    column = bind(column_block * width + j * WARP + lane)
                    with T.If(column < N), T.Then():
                        start_value = hold(added[0][column]) if bias else const(0)
                        for i in range(ROWS):
                            with T.If(first + i < M), T.Then():
                                total = totals[i32(i * columns + j)]
                                store(y, (first + i) * N + column, total + start_value)

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
