"""Layer norm of rows: Y = (X - mean) / sqrt(variance + epsilon) * W + B.

The mean m of the first pass is affected by the rounding of its sum. The second pass computes
r = mean(X - m), and the deviations are (X - m) - r, so that neither a large mean nor narrow vectors
cost accuracy.
"""

from __future__ import annotations

from collections.abc import Callable

from tvm import tirx

from ..common.builder import (
    Buffer,
    Expr,
    Parameter,
    T,
    bind,
    build_kernel,
    ceil_div,
    f32,
    i64,
    minimum,
    registers,
)
from .lanes import Lanes, over_channels
from .vector import VectorTarget

VECTORS = 4  # independent sums, to hide the latency of an addition
ROWS = 8  # rows per task


def _row_sum(target: VectorTarget, features: int, term: Callable[[Lanes, Expr], Expr]) -> Expr:
    """The sum of term(lanes, c) over the channels of a row: per lane first, then pairwise."""
    sums = registers(VECTORS * target.lanes)
    rest = registers(1)
    slots = [i64(i * target.lanes) for i in range(VECTORS)]
    for slot in slots:
        target.store(sums, slot, target.splat(0.0))
    T.buffer_store(rest, f32(0), [i64(0)])

    def add(lanes: Lanes, count: int, c: Expr) -> None:
        into, at = (rest, [i64(0)]) if lanes.target is None else (sums, slots)
        for i in range(count):
            value = term(lanes, c + i * lanes.width)
            lanes.store(into, at[i], lanes.load(into, at[i]) + value)

    over_channels(target, features, VECTORS, add)
    folded = [target.load(sums, slot) for slot in slots]
    target.store(sums, i64(0), (folded[0] + folded[1]) + (folded[2] + folded[3]))
    parts = [sums[i64(i)] for i in range(target.lanes)]
    while len(parts) > 1:
        parts = [bind(a + b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return bind(parts[0] + rest[i64(0)])


def layer_norm(target: VectorTarget, features: int, epsilon: float) -> tirx.PrimFunc:
    """The kernel (x, weight, bias) -> y, all float32: x, y [M, N]; weight, bias [N]; M >= 1."""
    N = features
    rows = tirx.Var("M", "int64")

    def body(x: Buffer, weight: Buffer, bias: Buffer, y: Buffer) -> None:
        def normalize(start: Expr) -> None:
            def mean_of(term: Callable[[Lanes, Expr], Expr]) -> Expr:
                return bind(_row_sum(target, N, term) * f32(1.0 / N))

            mean = mean_of(lambda lanes, c: lanes.load(x, start + c))
            rest = mean_of(lambda lanes, c: lanes.load(x, start + c) - lanes.splat(mean))

            def deviation(lanes: Lanes, c: Expr) -> Expr:
                return bind((lanes.load(x, start + c) - lanes.splat(mean)) - lanes.splat(rest))

            def squared(lanes: Lanes, c: Expr) -> Expr:
                value = deviation(lanes, c)
                return value * value

            variance = mean_of(squared)
            rstd = bind(f32(1) / tirx.sqrt(variance + f32(epsilon)))

            def write(lanes: Lanes, _: int, c: Expr) -> None:
                normal = bind(deviation(lanes, c) * lanes.splat(rstd))
                lanes.store(y, start + c, normal * lanes.load(weight, c) + lanes.load(bias, c))

            over_channels(target, N, 1, write)

        with T.parallel(i64(0), ceil_div(rows, ROWS)) as task:
            first = bind(task * ROWS)
            with T.serial(i64(0), bind(minimum(rows - first, ROWS))) as r:
                normalize(bind((first + r) * N))

    return build_kernel(
        f"layer_norm_n{N}_e{epsilon:g}_v{target.lanes}".replace("-", "m").replace(".", "_"),
        [
            Parameter("x", (rows, N)),
            Parameter("weight", (N,)),
            Parameter("bias", (N,)),
            Parameter("y", (rows, N)),
        ],
        body,
    )
