"""Layer norm of rows: y = (x - mean) * rstd * weight + bias over the features of each row.

A block of threads handles one row. Mean and variance are computed as in `statistics`, in two passes
and without cancellation; the row stays in the cache.
"""

from __future__ import annotations

import operator
from functools import reduce

from tvm import tirx

from .math import fma
from .threads import (
    Buffer,
    Expr,
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


def layer_norm(features: int, epsilon: float, residual: bool = False) -> tirx.PrimFunc:
    """The kernel (x[, residual], weight, bias) -> y, all float32.

    x, residual and y are [M, F]; weight, bias [F]; M >= 1. The norm is that of x + residual.
    """
    F = features
    rows = tirx.Var("M", "int64")

    def body(x: Buffer, *rest: Buffer) -> None:
        *residuals, weight, bias, y = rest

        def value(index: Expr) -> Expr:
            return reduce(operator.add, (part[index] for part in (x, *residuals)))

        with launch([i32(rows)], [THREADS]) as ((row,), (thread,)):
            start = bind(row * F)
            rounds = bind(ceil_div(F - thread, THREADS))
            sums = registers(2)

            store(sums, 0, const(0))
            with T.serial(i32(0), rounds) as i:
                add_to(sums, 0, value(start + i * THREADS + thread))
            (total,) = block_sum([sums[i32(0)]], thread, THREADS)
            middle = hold(total * const(1 / F))

            store(sums, 0, const(0))
            store(sums, 1, const(0))
            with T.serial(i32(0), rounds) as i:
                deviation = hold(value(start + i * THREADS + thread) - middle)
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
                store(y, start + c, fma(value(start + c) - mean, scale, bias[c]))

    name = f"gpu_layer_norm_f{F}_e{epsilon:g}{'_residual' if residual else ''}"
    return build_kernel(
        name.replace("-", "m").replace(".", "_"),
        [
            Parameter("x", (rows, F)),
            *([Parameter("residual", (rows, F))] if residual else []),
            Parameter("weight", (F,)),
            Parameter("bias", (F,)),
            Parameter("y", (rows, F)),
        ],
        body,
    )
