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

from tvm import tirx

from kokoro_pipeline.errors import InputError

from ..common.elementary import exp
from .math import SCALARS
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
    parts = D // WARP
    pitch = D + 1  # words between keys, so that neighbouring lanes read different banks
    batch, steps = tirx.Var("B", "int64"), tirx.Var("n", "int64")

    def body(q: Buffer, k: Buffer, v: Buffer, lengths: Buffer, output: Buffer) -> None:
        n = bind(i32(steps))
        grid = [ceil_div(n, QUERIES), heads, i32(batch)]
        with launch(grid, [WARP, QUERIES]) as ((block, head, b), (lane, warp)):
            length = bind(tirx.min(tirx.max(tirx.Cast("int32", lengths[b]), i32(0)), n))
            query = bind(block * QUERIES + warp)
            asks = query < length
            start = bind(b * n * width + head * D)
            asked = shared(QUERIES * D)
            keys, values = shared(KEYS * pitch), shared(KEYS * D)
            scores = shared(QUERIES * KEYS)
            out = registers(parts)
            state = registers(2)  # the largest score so far; the sum of exp(score - largest)
            store(state, 0, const(-3.0e38))
            store(state, 1, const(0))
            for part in range(parts):
                store(out, part, const(0))
                d = part * WARP + lane
                with T.If(asks):
                    with T.Then():
                        value = q[start + query * width + d] * const(1 / math.sqrt(D))
                        store(asked, warp * D + d, value)
                    with T.Else():
                        store(asked, warp * D + d, const(0))
            with T.serial(i32(0), ceil_div(length, KEYS)) as tile:
                synchronize()
                with T.serial(i32(0), i32(KEYS * D // (WARP * QUERIES))) as i:
                    at = bind((i * QUERIES + warp) * WARP + lane)
                    j, d = bind(div(at, D)), bind(mod(at, D))
                    key = bind(tile * KEYS + j)
                    with T.If(key < length):
                        with T.Then():
                            store(keys, j * pitch + d, k[start + key * width + d])
                            store(values, j * D + d, v[start + key * width + d])
                        with T.Else():
                            store(keys, j * pitch + d, const(0))
                            store(values, j * D + d, const(0))
                synchronize()
                score = registers(1)
                store(score, 0, const(0))
                with T.serial(i32(0), i32(D)) as d:
                    add_to(score, 0, keys[lane * pitch + d] * asked[warp * D + d])
                exists = tile * KEYS + lane < length
                store(
                    scores,
                    warp * KEYS + lane,
                    tirx.if_then_else(exists, score[i32(0)], const(-3.0e38)),
                )
                synchronize()
                largest = registers(1)
                store(largest, 0, state[i32(0)])
                with T.serial(i32(0), i32(KEYS)) as j:
                    store(largest, 0, tirx.max(largest[i32(0)], scores[warp * KEYS + j]))
                shrink = exp(SCALARS, state[i32(0)] - largest[i32(0)])
                store(state, 0, largest[i32(0)])
                store(state, 1, state[i32(1)] * shrink)
                for part in range(parts):
                    store(out, part, out[i32(part)] * shrink)
                with T.serial(i32(0), tirx.min(i32(KEYS), length - tile * KEYS)) as j:
                    share = exp(SCALARS, scores[warp * KEYS + j] - largest[i32(0)])
                    add_to(state, 1, share)
                    for part in range(parts):
                        add_to(out, part, share * values[j * D + part * WARP + lane])
            with T.If(query < n), T.Then():
                for part in range(parts):
                    to = start + query * width + part * WARP + lane
                    with T.If(asks):
                        with T.Then():
                            store(output, to, out[i32(part)] / state[i32(1)])
                        with T.Else():
                            store(output, to, const(0))

    return build_kernel(
        f"gpu_attention_h{heads}_d{D}",
        [
            *(Parameter(name, (batch, steps, width)) for name in ("q", "k", "v")),
            Parameter("lengths", (batch,), "int64"),
            Parameter("output", (batch, steps, width)),
        ],
        body,
    )
