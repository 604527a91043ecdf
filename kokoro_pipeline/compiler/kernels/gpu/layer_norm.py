"""Layer norm of rows: y = (x - mean) * rstd * weight + bias over the features of each row.

A block of threads handles one row. Mean and variance are computed as in `statistics`, in two passes
and without cancellation; the row stays in the cache.
"""

from __future__ import annotations

from tvm import tirx

from .math import fma
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

THREADS = 128


def layer_norm(features: int, epsilon: float) -> tirx.PrimFunc:
    """The kernel (x, weight, bias) -> y, all float32: x, y [M, F]; weight, bias [F]; M >= 1."""
    F = features
    rows = tirx.Var("M", "int64")

    def body(x: Buffer, weight: Buffer, bias: Buffer, y: Buffer) -> None:
        with launch([i32(rows)], [THREADS]) as ((row,), (thread,)):
            start = bind(row * F)
            rounds = bind(ceil_div(F - thread, THREADS))
            sums = registers(2)

            store(sums, 0, const(0))
            with T.serial(i32(0), rounds) as i:
                add_to(sums, 0, x[start + i * THREADS + thread])
            (total,) = block_sum([sums[i32(0)]], thread, THREADS)
            middle = hold(total * const(1 / F))

            store(sums, 0, const(0))
            store(sums, 1, const(0))
            with T.serial(i32(0), rounds) as i:
                deviation = hold(x[start + i * THREADS + thread] - middle)
                add_to(sums, 0, deviation)
                add_to(sums, 1, deviation * deviation)
            first, second = block_sum([sums[i32(0)], sums[i32(1)]], thread, THREADS)
            share = hold(first * const(1 / F))
            variance = tirx.max((second - first * share) * const(1 / F), const(0))
            rstd = hold(const(1) / tirx.sqrt(variance + const(epsilon)))
            mean = hold(middle + share)
            with T.serial(i32(0), rounds) as i:
                c = bind(i * THREADS + thread)
                scale = hold(rstd * weight[c])
                store(y, start + c, fma(x[start + c] - mean, scale, bias[c]))

    return build_kernel(
        f"gpu_layer_norm_f{F}_e{epsilon:g}".replace("-", "m").replace(".", "_"),
        [
            Parameter("x", (rows, F)),
            Parameter("weight", (F,)),
            Parameter("bias", (F,)),
            Parameter("y", (rows, F)),
        ],
        body,
    )
