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
from dataclasses import dataclass
from functools import partial

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


@dataclass(frozen=True)
class AttentionSizes:
    """The sizes of a kernel for heads of `size` values, of which a row has `width` in all."""

    target: VectorTarget
    size: int
    width: int

    @property
    def queries(self) -> int:
        """Queries of a task, which lie in the lanes."""
        return QUERY_VECTORS * self.target.lanes

    @property
    def score_tile(self) -> Tile:
        """The register tile of the scores: keys and vectors of queries."""
        return Tile(12 if self.target.registers >= 32 else 6, QUERY_VECTORS)

    @property
    def out_tile(self) -> Tile:
        """The register tile of the output: queries and vectors of values."""
        many, vectors = self.target.registers >= 32, self.size // self.target.lanes
        columns = max(v for v in (1, 2, 4) if vectors % v == 0 and (v < 4 or many))
        return Tile(min(12, (self.target.registers - 1 - columns) // columns), columns)


class AttentionTask:
    """The queries from `first` on of a head of a batch row, of which `rows` are valid."""

    def __init__(
        self, sizes: AttentionSizes, steps: Expr, lengths: Buffer, b: Expr, head: Expr, first: Expr
    ) -> None:
        """Emit the sizes and the memory of the task."""
        self.sizes, self.target, self.steps, self.first = sizes, sizes.target, steps, first
        queries, width = sizes.queries, sizes.width
        self.keys = bind(minimum(maximum(lengths[b], 0), steps))
        self.rows = bind(maximum(minimum(self.keys - first, queries), 0))
        self.start = bind(b * steps * width + head * sizes.size)  # of the head in q, k, v, output
        self.own = bind(self.start + first * width)  # of the task's queries in q and the output
        self.asked = T.alloc_buffer((sizes.size * queries,), "float32")  # scaled [d, query]
        self.scores = T.alloc_buffer((steps * queries,), "float32")  # [key, query]
        self.inverse = T.alloc_buffer((queries,), "float32")
        sums = max(tile.rows * tile.vectors for tile in (sizes.score_tile, sizes.out_tile))
        self.total = T.alloc_buffer((sums * self.target.lanes,), "float64")

    def emit(self, q: Buffer, k: Buffer, v: Buffer, output: Buffer) -> None:
        """Compute the output of the queries, 0 for those that are not valid."""
        target, sizes = self.target, self.sizes
        self.load_queries(q)
        _over_rows(self.keys, sizes.score_tile.rows, partial(self.score, k))
        for i in range(QUERY_VECTORS):
            offset = i * target.lanes
            _softmax(target, self.scores, self.inverse, self.keys, sizes.queries, offset)
        _over_rows(self.rows, sizes.out_tile.rows, partial(self.accumulate_values, v, output))
        left = maximum(minimum(self.steps - self.first, sizes.queries) - self.rows, 0)
        with T.serial(i64(0), left) as i:
            at = bind(self.own + (self.rows + i) * sizes.width)
            zero_range(target, output, at, at + sizes.size)

    def load_queries(self, q: Buffer) -> None:
        """Transpose and scale the queries, with zeros for those that are not valid."""
        size, queries = self.sizes.size, self.sizes.queries
        zero_range(self.target, self.asked, i64(0), i64(size * queries))
        with T.serial(i64(0), self.rows) as i, T.serial(i64(0), i64(size)) as d:
            value = q[self.own + i * self.sizes.width + d] * f32(1.0 / math.sqrt(size))
            T.buffer_store(self.asked, value, [d * queries + i])

    def score(self, k: Buffer, count: int, key: Expr) -> None:
        """The scores [count, queries] of the keys from `key` on, for all queries."""
        target, queries, V = self.target, self.sizes.queries, self.target.lanes
        at = bind(self.start + key * self.sizes.width)

        def store(r: int, i: int, value: Expr) -> None:
            target.store(self.scores, (key + r) * queries + i * V, value)

        sum_in_chunks(
            target,
            Tile(count, QUERY_VECTORS),
            i64(self.sizes.size),
            self.total,
            lambda r, d: k[at + r * self.sizes.width + d],
            lambda i, d: target.load(self.asked, d * queries + i * V),
            store,
        )

    def accumulate_values(self, v: Buffer, output: Buffer, count: int, query: Expr) -> None:
        """The output [count, size] of the queries from `query` on."""
        target, queries, V = self.target, self.sizes.queries, self.target.lanes
        width, columns = self.sizes.width, self.sizes.out_tile.vectors
        with T.serial(i64(0), i64(self.sizes.size // V // columns)) as part:
            column = bind(part * (columns * V))

            def store(r: int, i: int, value: Expr) -> None:
                to = self.own + (query + r) * width + column + i * V
                target.store(output, to, value * target.splat(self.inverse[query + r]))

            sum_in_chunks(
                target,
                Tile(count, columns),
                self.keys,
                self.total,
                lambda r, j: self.scores[j * queries + query + r],
                lambda i, j: target.load(v, self.start + j * width + column + i * V),
                store,
            )


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
    sizes = AttentionSizes(target, D, width)
    batch, steps = tirx.Var("B", "int64"), tirx.Var("n", "int64")

    def body(q: Buffer, k: Buffer, v: Buffer, lengths: Buffer, output: Buffer) -> None:
        blocks = bind(ceil_div(steps, sizes.queries))
        with T.parallel(i64(0), batch * heads * blocks) as index:
            row = bind(div(index, blocks))
            b, head = bind(div(row, heads)), bind(mod(row, heads))
            first = bind(mod(index, blocks) * sizes.queries)
            AttentionTask(sizes, steps, lengths, b, head, first).emit(q, k, v, output)

    return build_kernel(
        f"attention_h{heads}_d{D}_v{V}r{target.registers}",
        [
            *(Parameter(name, (batch, steps, width)) for name in ("q", "k", "v")),
            Parameter("lengths", (batch,), "int64"),
            Parameter("output", (batch, steps, width)),
        ],
        body,
    )
