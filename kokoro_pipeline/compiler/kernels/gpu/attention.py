"""Multi-head self-attention that handles rows of different lengths exactly, without a mask.

For each batch row, head and query, over the valid keys j < length of the row only:

    S[j] = scale * sum_d K[j, d] Q[d],    O = sum_j exp(S[j] - max S) V[j] / sum_j exp(S[j] - max S)

A block of threads handles `QUERIES` queries, one warp each, and iterates over the keys in tiles of
a warp's width. A lane computes the score of one key. The running maximum m and sum s are carried
from tile to tile, and the previous sums are scaled by exp(m_old - m_new) (Milakov and Gimelshein
2018), so scores never reach global memory. All lanes of a warp read the scores of the tile and find
the same maximum, so nothing depends on lockstep execution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tvm import tirx

from kokoro_pipeline.errors import InputError

from ..common.elementary import exp
from .math import SCALARS
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
    i32,
    launch,
    mod,
    registers,
    shared,
    store,
    synchronize,
)

QUERIES = 8
KEYS = WARP


@dataclass(frozen=True)
class Head:
    """The head of a batch row that a block of threads works on.

    Its `size` values of a step are those from `row(step)` on, and the first `length` steps are
    valid.
    """

    size: int
    width: int
    start: Expr
    length: Expr

    def row(self, step: Expr) -> Expr:
        """Where the values of a step begin in q, k, v and the output."""
        return self.start + step * self.width


class Query:
    """A thread of a block for `QUERIES` queries of a head, which works on one with its warp.

    It takes the scores of key `lane` of each tile of keys, and sums the values `lane`, `lane + 32`
    and so on of the output.
    """

    def __init__(self, head: Head, query: Expr, lane: Expr, warp: Expr) -> None:
        """Emit the memory of the thread and of its block."""
        self.head, self.query, self.lane, self.warp = head, query, lane, warp
        self.parts = head.size // WARP
        self.asks = query < head.length
        self.pitch = head.size + 1  # words between keys: neighbouring lanes read different banks
        self.asked = shared(QUERIES * head.size)
        self.keys, self.values = shared(KEYS * self.pitch), shared(KEYS * head.size)
        self.scores = shared(QUERIES * KEYS)
        self.out = registers(self.parts)
        self.state = registers(2)  # the largest score so far; the sum of exp(score - largest)

    def emit(self, q: Buffer, k: Buffer, v: Buffer, output: Buffer, steps: Expr) -> None:
        """Go through the keys in tiles, and write the query's output if it is below `steps`."""
        self.load_queries(q)
        with T.serial(i32(0), ceil_div(self.head.length, KEYS)) as tile:
            synchronize()
            self.load_keys_and_values(k, v, tile)
            synchronize()
            self.score(tile)
            synchronize()
            self.add(tile)
        with T.If(self.query < steps), T.Then():
            self.write(output)

    def load_queries(self, q: Buffer) -> None:
        """Share the scaled query, and start with sums of 0."""
        size = self.head.size
        store(self.state, 0, const(-3.0e38))
        store(self.state, 1, const(0))
        for part in range(self.parts):
            store(self.out, part, const(0))
            d = part * WARP + self.lane
            with T.If(self.asks):
                with T.Then():
                    value = q[self.head.row(self.query) + d] * const(1 / math.sqrt(size))
                    store(self.asked, self.warp * size + d, value)
                with T.Else():
                    store(self.asked, self.warp * size + d, const(0))

    def load_keys_and_values(self, k: Buffer, v: Buffer, tile: Expr) -> None:
        """Copy the keys and values of a tile, with zeros for those that are not valid."""
        size = self.head.size
        with T.serial(i32(0), i32(KEYS * size // (WARP * QUERIES))) as i:
            at = bind((i * QUERIES + self.warp) * WARP + self.lane)
            j, d = bind(div(at, size)), bind(mod(at, size))
            key = bind(tile * KEYS + j)
            with T.If(key < self.head.length):
                with T.Then():
                    store(self.keys, j * self.pitch + d, k[self.head.row(key) + d])
                    store(self.values, j * size + d, v[self.head.row(key) + d])
                with T.Else():
                    store(self.keys, j * self.pitch + d, const(0))
                    store(self.values, j * size + d, const(0))

    def score(self, tile: Expr) -> None:
        """Share the score of the thread's key of a tile, the least if the key is not valid."""
        size = self.head.size
        score = registers(1)
        store(score, 0, const(0))
        with T.serial(i32(0), i32(size)) as d:
            key, asked = self.lane * self.pitch + d, self.warp * size + d
            add_to(score, 0, self.keys[key] * self.asked[asked])
        exists = tile * KEYS + self.lane < self.head.length
        value = tirx.if_then_else(exists, score[i32(0)], const(-3.0e38))
        store(self.scores, self.warp * KEYS + self.lane, value)

    def add(self, tile: Expr) -> None:
        """Add the values of a tile by their shares, after scaling the sums to the new maximum."""
        state, own = self.state, self.warp * KEYS
        largest = registers(1)
        store(largest, 0, state[i32(0)])
        with T.serial(i32(0), i32(KEYS)) as j:
            store(largest, 0, tirx.max(largest[i32(0)], self.scores[own + j]))
        shrink = exp(SCALARS, state[i32(0)] - largest[i32(0)])
        store(state, 0, largest[i32(0)])
        store(state, 1, state[i32(1)] * shrink)
        for part in range(self.parts):
            store(self.out, part, self.out[i32(part)] * shrink)
        with T.serial(i32(0), tirx.min(i32(KEYS), self.head.length - tile * KEYS)) as j:
            share = exp(SCALARS, self.scores[own + j] - largest[i32(0)])
            add_to(state, 1, share)
            for part in range(self.parts):
                at = j * self.head.size + part * WARP + self.lane
                add_to(self.out, part, share * self.values[at])

    def write(self, output: Buffer) -> None:
        """Write the mean of the values by their shares, and 0 for a query that is not valid."""
        for part in range(self.parts):
            to = self.head.row(self.query) + part * WARP + self.lane
            with T.If(self.asks):
                with T.Then():
                    store(output, to, self.out[i32(part)] / self.state[i32(1)])
                with T.Else():
                    store(output, to, const(0))


def attention(heads: int, head_size: int) -> tirx.PrimFunc:
    """softmax(Q K^T / sqrt(head_size)) V for each head, over the first `lengths[b]` keys of row b.

    The kernel takes (q, k, v, lengths) and writes the output: q, k, v and output are float32
    [B, n, heads * head_size]; lengths is int64 [B] with 0 <= length <= n. Positions from a row's
    length on are never read; the output there is 0.

    Raises InputError if head_size is not a multiple of 32.
    """
    D, width = head_size, heads * head_size
    if D % WARP:
        raise InputError(
            f"attention with heads of {D}: a multiple of {WARP} is needed; build with --opt 0"
        )
    batch, steps = tirx.Var("B", "int64"), tirx.Var("n", "int64")

    def body(q: Buffer, k: Buffer, v: Buffer, lengths: Buffer, output: Buffer) -> None:
        n = bind(i32(steps))
        grid = [ceil_div(n, QUERIES), heads, i32(batch)]
        with launch(grid, [WARP, QUERIES]) as ((block, head, b), (lane, warp)):
            length = bind(tirx.min(tirx.max(tirx.Cast("int32", lengths[b]), i32(0)), n))
            query = bind(block * QUERIES + warp)
            own = Head(D, width, bind(b * n * width + head * D), length)
            Query(own, query, lane, warp).emit(q, k, v, output, n)

    return build_kernel(
        f"gpu_attention_h{heads}_d{D}",
        [
            *(Parameter(name, (batch, steps, width)) for name in ("q", "k", "v")),
            Parameter("lengths", (batch,), "int64"),
            Parameter("output", (batch, steps, width)),
        ],
        body,
    )
