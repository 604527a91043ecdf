"""Linear layers: Y[M, N] = X[M, K] W[N, K]^T + bias, a tile in shared memory.

A block of threads makes `ROWS * WARPS` rows and `WARP * COLUMNS` features. It walks K in chunks:
rows of X, turned so that a thread's rows lie together, and the weights' panel go to shared memory;
then each thread adds up ROWS by COLUMNS sums in registers. Rows that do not exist are read as 0.
"""

from __future__ import annotations

import numpy as np
from tvm import tirx

from .threads import (
    WARP,
    Buffer,
    Parameter,
    T,
    add_to,
    bind,
    build_kernel,
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

ROWS, COLUMNS, WARPS = 8, 2, 4  # of a thread; of a block
BLOCK_ROWS = ROWS * WARPS
BLOCK_COLUMNS = WARP * COLUMNS
CHUNK = WARP  # of K: a lane each
TURNED = BLOCK_ROWS + 4  # words between the chunk's columns: fewer bank conflicts, 16-byte aligned


def packed_shape(in_features: int, out_features: int) -> tuple[int, int]:
    """The shape of what `pack_linear` gives."""
    chunks = -(-in_features // CHUNK)
    return -(-out_features // BLOCK_COLUMNS), chunks * CHUNK * BLOCK_COLUMNS


def pack_linear(weight: np.ndarray) -> np.ndarray:
    """PyTorch's weight [N, K] -> float32 [blocks of N, K then the block's N]; the rest is 0."""
    out_features, in_features = weight.shape
    blocks, words = packed_shape(in_features, out_features)
    padded = np.zeros((blocks * BLOCK_COLUMNS, words // BLOCK_COLUMNS), np.float32)
    padded[:out_features, :in_features] = weight
    split = padded.reshape(blocks, BLOCK_COLUMNS, -1).transpose(0, 2, 1)
    return np.ascontiguousarray(split).reshape(blocks, words)


def linear(in_features: int, out_features: int, bias: bool = False) -> tirx.PrimFunc:
    """(x, weight[, bias]) -> y.

    All float32: x [M, K]; weight as `pack_linear` gives it; bias [N]; y [M, N]. M any from 1.
    """
    K, N = in_features, out_features
    blocks, words = packed_shape(K, N)
    rows_all = tirx.Var("M", "int64")

    def body(x: Buffer, w: Buffer, *rest: Buffer) -> None:
        *added, y = rest
        M = bind(i32(rows_all))
        grid = [blocks, ceil_div(M, BLOCK_ROWS)]
        with launch(grid, [WARP, WARPS]) as ((column_block, row_block), (lane, warp)):
            turned = shared(CHUNK * TURNED)
            panel = shared(CHUNK * BLOCK_COLUMNS)
            totals = registers(ROWS * COLUMNS)
            left = registers(ROWS)
            right = registers(COLUMNS)
            for i in range(ROWS * COLUMNS):
                store(totals, i, const(0))
            first = bind(row_block * BLOCK_ROWS + warp * ROWS)
            with T.serial(i32(0), i32(-(-K // CHUNK))) as chunk:
                synchronize()
                k = bind(chunk * CHUNK + lane)
                with T.serial(i32(0), i32(ROWS)) as i:
                    row = bind(first + i)
                    with T.If(tirx.And(row < M, k < K)):
                        with T.Then():
                            store(turned, lane * TURNED + warp * ROWS + i, x[row * K + k])
                        with T.Else():
                            store(turned, lane * TURNED + warp * ROWS + i, const(0))
                threads = WARP * WARPS
                start = bind(column_block * words + chunk * (CHUNK * BLOCK_COLUMNS))
                with T.serial(i32(0), i32(CHUNK * BLOCK_COLUMNS // (4 * threads))) as j:
                    offset = bind((j * threads + warp * WARP + lane) * 4)
                    with T.vectorized(i32(0), i32(4)) as v:
                        store(panel, offset + v, w[start + offset + v])
                synchronize()
                with T.serial(i32(0), i32(CHUNK)) as c:
                    for part in range(0, ROWS, 4):
                        with T.vectorized(i32(0), i32(4)) as v:
                            store(left, part + v, turned[c * TURNED + warp * ROWS + part + v])
                    for j in range(COLUMNS):
                        store(right, j, panel[c * BLOCK_COLUMNS + j * WARP + lane])
                    for i in range(ROWS):
                        for j in range(COLUMNS):
                            add_to(totals, i * COLUMNS + j, left[i32(i)] * right[i32(j)])
            for j in range(COLUMNS):
                column = bind(column_block * BLOCK_COLUMNS + j * WARP + lane)
                with T.If(column < N), T.Then():
                    start_value = hold(added[0][column]) if bias else const(0)
                    for i in range(ROWS):
                        with T.If(first + i < M), T.Then():
                            total = totals[i32(i * COLUMNS + j)]
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
