"""Mean and reciprocal standard deviation of each row of [B, C, L] over L, for instance norms.

A block of threads handles one row in two passes: first its mean m, then s1 = sum (x - m) and
s2 = sum (x - m)^2, which give

    mean = m + s1 / L,    variance = (s2 - s1^2 / L) / L

so that a row of mean 1000 and standard deviation 1 does not lose accuracy. In the second pass the
row is in the cache.
"""

from __future__ import annotations

from tvm import tirx

from .threads import (
    Buffer,
    Parameter,
    T,
    add_to,
    bind,
    block_sum,
    build_kernel,
    ceil_div,
    const,
    hold,
    i32,
    launch,
    registers,
    store,
)


def row_statistics(channels: int, epsilon: float, threads: int) -> tirx.PrimFunc:
    """The kernel x -> mean, rstd with rstd = 1 / sqrt(variance + epsilon), by blocks of `threads`.

    x is float32 [B, C, L]; mean and rstd are float32 [B, C]. The variance is over L, divided by L.
    B and L are at least 1.
    """
    C = channels
    batch, length = tirx.Var("B", "int64"), tirx.Var("L", "int64")

    def body(x: Buffer, mean: Buffer, rstd: Buffer) -> None:
        L = bind(i32(length))
        inverse = bind(const(1) / tirx.Cast("float32", L))
        with launch([i32(batch) * C], [threads]) as ((row,), (thread,)):
            start = bind(row * L)
            rounds = bind(ceil_div(L - thread, threads))
            sums = registers(2)

            store(sums, 0, const(0))
            with T.serial(i32(0), rounds) as i:
                add_to(sums, 0, x[start + i * threads + thread])
            (total,) = block_sum([sums[i32(0)]], thread, threads)
            middle = hold(total * inverse)

            store(sums, 0, const(0))
            store(sums, 1, const(0))
            with T.serial(i32(0), rounds) as i:
                deviation = hold(x[start + i * threads + thread] - middle)
                add_to(sums, 0, deviation)
                add_to(sums, 1, deviation * deviation)
            first, second = block_sum([sums[i32(0)], sums[i32(1)]], thread, threads)
            with T.If(thread == 0), T.Then():
                share = hold(first * inverse)
                variance = tirx.max((second - first * share) * inverse, const(0))
                store(mean, row, middle + share)
                store(rstd, row, const(1) / tirx.sqrt(variance + const(epsilon)))

    return build_kernel(
        f"row_statistics_c{C}_e{epsilon:g}".replace("-", "m").replace(".", "_"),
        [
            Parameter("x", (batch, C, length)),
            Parameter("mean", (batch, C)),
            Parameter("rstd", (batch, C)),
        ],
        body,
    )
