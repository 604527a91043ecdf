"""Mean and reciprocal standard deviation of each channel over time, for instance norms.

Rows are taken in chunks of `CHUNK`, in parallel. A chunk is read twice from the cache: its mean m,
then s1 = sum (x - m) and s2 = sum (x - m)^2, which give the chunk's mean m + s1/n and its sum of
squared deviations s2 - s1^2/n without cancellation. Chunks are then combined in their order by

    mean = m_0 + sum n_i (m_i - m_0) / L,    variance = sum (S_i + n_i (m_i - mean)^2) / L

so that a channel of mean 1000 and deviation 1 loses nothing, and the number of threads cannot show.
"""

from __future__ import annotations

from collections.abc import Callable

from tvm import tirx

from .lanes import Lanes, over_channels
from .vector import (
    Buffer,
    Expr,
    Parameter,
    T,
    VectorTarget,
    bind,
    build_kernel,
    ceil_div,
    div,
    f32,
    i64,
    minimum,
    mod,
    registers,
)

CHUNK = 64
VECTORS = 4  # channels summed together: enough independent sums to hide an addition's latency


def _chunk_moments(
    lanes: Lanes,
    count: int,
    x: Buffer,
    at: Expr,
    stride: int,
    rows: Expr,
    store: Callable[[int, Expr, Expr], None],
) -> None:
    """store(i, mean, sum of squared deviations) for each lanes i of rows from x[at]."""
    width = lanes.width
    inverse = bind(f32(1) / tirx.Cast("float32", rows))
    first = registers(count * width)
    second = registers(count * width)
    middle = registers(count * width)
    slots = [i64(i * width) for i in range(count)]
    for slot in slots:
        lanes.store(first, slot, lanes.splat(0.0))
    with T.serial(i64(0), rows) as t:
        for slot in slots:
            value = lanes.load(x, at + t * stride + slot)
            lanes.store(first, slot, lanes.load(first, slot) + value)
    for slot in slots:
        lanes.store(middle, slot, lanes.load(first, slot) * lanes.splat(inverse))
        lanes.store(first, slot, lanes.splat(0.0))
        lanes.store(second, slot, lanes.splat(0.0))
    with T.serial(i64(0), rows) as t:
        for slot in slots:
            deviation = bind(lanes.load(x, at + t * stride + slot) - lanes.load(middle, slot))
            lanes.store(first, slot, lanes.load(first, slot) + deviation)
            lanes.store(second, slot, lanes.load(second, slot) + deviation * deviation)
    for i, slot in enumerate(slots):
        rest = bind(lanes.load(first, slot))
        share = bind(rest * lanes.splat(inverse))
        store(i, lanes.load(middle, slot) + share, lanes.load(second, slot) - rest * share)


def channel_statistics(target: VectorTarget, channels: int, epsilon: float) -> tirx.PrimFunc:
    """X float32 [B, L, C] -> mean, rstd float32 [B, C], with rstd = 1 / sqrt(variance + epsilon).

    The variance is over L, divided by L, as instance norms have it. B and L any from 1.
    """
    C = channels
    batch, length = tirx.Var("B", "int64"), tirx.Var("L", "int64")

    def body(x: Buffer, mean: Buffer, rstd: Buffer) -> None:
        chunks = bind(ceil_div(length, CHUNK))
        # For each chunk: C means, then C sums of squared deviations.
        partial = T.alloc_buffer((batch * ceil_div(length, CHUNK) * (2 * C),), "float32")
        with T.parallel(i64(0), batch * chunks) as task:
            first = bind(mod(task, chunks) * CHUNK)
            rows = bind(minimum(length - first, CHUNK))
            start = bind((div(task, chunks) * length + first) * C)

            def moments(lanes: Lanes, count: int, c: Expr) -> None:
                def store(i: int, chunk_mean: Expr, squares: Expr) -> None:
                    to = bind(task * (2 * C) + c + i * lanes.width)
                    lanes.store(partial, to, chunk_mean)
                    lanes.store(partial, to + C, squares)

                _chunk_moments(lanes, count, x, start + c, C, rows, store)

            over_channels(target, C, VECTORS, moments)

        with T.serial(i64(0), batch) as b:

            def combine(lanes: Lanes, count: int, c: Expr) -> None:
                for i in range(count):
                    at = bind(c + i * lanes.width)
                    _combine(lanes, at, bind(b * chunks * (2 * C) + at), bind(b * C + at))

            def _combine(lanes: Lanes, at: Expr, start: Expr, to: Expr) -> None:
                inverse = bind(f32(1) / tirx.Cast("float32", length))
                total = registers(lanes.width)
                zero = i64(0)

                def over_chunks(term: Callable[[Expr, Expr], Expr]) -> Expr:
                    """sum over chunks of term(index of the chunk's mean, rows of the chunk)."""
                    lanes.store(total, zero, lanes.splat(0.0))
                    with T.serial(i64(0), chunks) as k:
                        rows = minimum(length - k * CHUNK, CHUNK)
                        weight = bind(lanes.splat(tirx.Cast("float32", rows)))
                        part = term(bind(start + k * (2 * C)), weight)
                        lanes.store(total, zero, lanes.load(total, zero) + part)
                    return bind(lanes.load(total, zero) * lanes.splat(inverse))

                origin = bind(lanes.load(partial, start))
                offset = over_chunks(lambda k, n: n * (lanes.load(partial, k) - origin))
                centre = bind(origin + offset)

                def squares(k: Expr, n: Expr) -> Expr:
                    distance = bind(lanes.load(partial, k) - centre)
                    return lanes.load(partial, k + C) + n * distance * distance

                variance = over_chunks(squares)
                lanes.store(mean, to, centre)
                root = tirx.sqrt(variance + lanes.splat(epsilon))
                lanes.store(rstd, to, lanes.splat(1.0) / root)

            over_channels(target, C, VECTORS, combine)

    return build_kernel(
        f"channel_statistics_c{C}_e{epsilon:g}_v{target.lanes}".replace("-", "m").replace(".", "_"),
        [
            Parameter("x", (batch, length, C)),
            Parameter("mean", (batch, C)),
            Parameter("rstd", (batch, C)),
        ],
        body,
    )
