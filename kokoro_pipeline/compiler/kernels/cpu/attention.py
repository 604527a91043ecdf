"""Multi-head self-attention that handles rows of different lengths exactly, without a mask.

For each batch row, head and block of queries, over the valid keys j < length of the row only:

    S[j, q] = scale * sum_d K[j, d] Q[q, d]
    P[j, q] = exp(S[j, q] - max_j S[j, q])
    O[q] = sum_j P[j, q] V[j] / sum_j P[j, q]

Scores are stored with the queries in the lanes. Thus maxima and sums over keys are plain vector
operations, only the block of queries is transposed, and the second product reads V and writes O in
their own layout.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tvm import tirx

from kokoro_pipeline.errors import InputError

from ..common.builder import (
    Buffer,
    Expr,
    Parameter,
    T,
    bind,
    build_kernel,
    ceil_div,
    div,
    f32,
    i64,
    maximum,
    minimum,
    mod,
    registers,
)
from ..common.elementary import exp
from .sums import sum_in_chunks
from .vector import Tile, VectorTarget, zero_range

QUERY_VECTORS = 2


def _over_rows(rows: Expr, height: int, body: Callable[[int, Expr], None]) -> None:
    """Call body(height, first row) for tiles of rows.

    The last tile is moved back to end at the last row. Fewer rows than a tile go one by one.
    """
    with T.If(rows >= height):
        with T.Then(), T.serial(i64(0), ceil_div(rows, height)) as i:
            body(height, bind(minimum(i * height, rows - height)))
        with T.Else(), T.serial(i64(0), rows) as t:
            body(1, t)


def attention(target: VectorTarget, heads: int, head_size: int) -> tirx.PrimFunc:
    """softmax(Q K^T / sqrt(head_size)) V for each head, over the first `lengths[b]` keys of row b.

    The kernel takes (q, k, v, lengths) and writes the output: q, k, v and output are float32
    [B, n, heads * head_size]; lengths is int64 [B] with 0 <= length <= n. Positions from a row's
    length on are never read; the output there is 0.

    Raises InputError if head_size is not a multiple of the lanes.
    """
    V, D, width = target.lanes, head_size, heads * head_size
    if D % V:
        raise InputError(
            f"attention with heads of {D} does not divide into vectors of {V}; build with --opt 0"
        )
    queries = QUERY_VECTORS * V
    score_tile = Tile(12 if target.registers >= 32 else 6, QUERY_VECTORS)
    columns = max(v for v in (1, 2, 4) if (D // V) % v == 0 and (v < 4 or target.registers >= 32))
    out_tile = Tile(min(12, (target.registers - 1 - columns) // columns), columns)
    batch, steps = tirx.Var("B", "int64"), tirx.Var("n", "int64")

    def body(q: Buffer, k: Buffer, v: Buffer, lengths: Buffer, output: Buffer) -> None:
        blocks = bind(ceil_div(steps, queries))

        def task(b: Expr, head: Expr, first: Expr) -> None:
            keys = bind(minimum(maximum(lengths[b], 0), steps))
            rows = bind(maximum(minimum(keys - first, queries), 0))
            start = bind(b * steps * width + head * D)
            own = bind(start + first * width)
            asked = T.alloc_buffer((D * queries,), "float32")  # scaled queries [d, query]
            scores = T.alloc_buffer((steps * queries,), "float32")  # [key, query]
            inverse = T.alloc_buffer((queries,), "float32")
            sums = max(tile.rows * tile.vectors for tile in (score_tile, out_tile))
            total = T.alloc_buffer((sums * V,), "float64")

            zero_range(target, asked, i64(0), i64(D * queries))
            with T.serial(i64(0), rows) as i, T.serial(i64(0), i64(D)) as d:
                value = q[own + i * width + d] * f32(1.0 / math.sqrt(D))
                T.buffer_store(asked, value, [d * queries + i])

            def score(count: int, key: Expr) -> None:
                at = bind(start + key * width)

                def store(r: int, i: int, value: Expr) -> None:
                    target.store(scores, (key + r) * queries + i * V, value)

                sum_in_chunks(
                    target,
                    Tile(count, QUERY_VECTORS),
                    i64(D),
                    total,
                    lambda r, d: k[at + r * width + d],
                    lambda i, d: target.load(asked, d * queries + i * V),
                    store,
                )

            _over_rows(keys, score_tile.rows, score)
            for i in range(QUERY_VECTORS):
                _softmax(target, scores, inverse, keys, queries, i * V)

            def weigh(count: int, query: Expr) -> None:
                with T.serial(i64(0), i64(D // V // columns)) as part:
                    column = bind(part * (columns * V))

                    def store(r: int, i: int, value: Expr) -> None:
                        to = own + (query + r) * width + column + i * V
                        target.store(output, to, value * target.splat(inverse[query + r]))

                    sum_in_chunks(
                        target,
                        Tile(count, columns),
                        keys,
                        total,
                        lambda r, j: scores[j * queries + query + r],
                        lambda i, j: target.load(v, start + j * width + column + i * V),
                        store,
                    )

            _over_rows(rows, out_tile.rows, weigh)
            with T.serial(i64(0), maximum(minimum(steps - first, queries) - rows, 0)) as i:
                at = bind(own + (rows + i) * width)
                zero_range(target, output, at, at + D)

        with T.parallel(i64(0), batch * heads * blocks) as index:
            row = bind(div(index, blocks))
            task(bind(div(row, heads)), bind(mod(row, heads)), bind(mod(index, blocks) * queries))

    return build_kernel(
        f"attention_h{heads}_d{D}_v{V}r{target.registers}",
        [
            *(Parameter(name, (batch, steps, width)) for name in ("q", "k", "v")),
            Parameter("lengths", (batch,), "int64"),
            Parameter("output", (batch, steps, width)),
        ],
        body,
    )


def _softmax(
    target: VectorTarget, scores: Buffer, inverse: Buffer, keys: Expr, stride: int, offset: int
) -> None:
    """For one vector of queries: scores = exp(scores - maximum), inverse = 1 / sum(scores)."""
    zero = i64(0)
    largest = registers(target.lanes)
    total = registers(target.lanes, "float64")
    target.store(largest, zero, target.splat(-3.0e38))
    target.store(total, zero, target.splat(0.0, "float64"))
    with T.serial(zero, keys) as j:
        value = target.load(scores, j * stride + offset)
        target.store(largest, zero, tirx.max(value, target.load(largest, zero)))
    with T.serial(zero, keys) as j:
        at = bind(j * stride + offset)
        part = exp(target, target.load(scores, at) - target.load(largest, zero))
        target.store(scores, at, part)
        target.store(total, zero, target.load(total, zero) + target.cast(part, "float64"))
    share = target.splat(1.0, "float64") / target.load(total, zero)
    target.store(inverse, i64(offset), target.cast(share, "float32"))
