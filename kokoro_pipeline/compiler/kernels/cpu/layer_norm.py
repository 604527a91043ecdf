"""Layer norm of rows: Y = (X - mean) / sqrt(variance + epsilon) * W + B, where X may be a sum.

Everything between X and Y is float64 and is rounded once, so that neither a large mean nor narrow
vectors cost accuracy. BERT's and the duration encoder's rounding reaches the audio through the
pitch and the phase that accumulates it, and the norms are a large part of it. What the rounding
takes from Y can be a second result, for a norm that adds Y to something.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce

from tvm import tirx

from ..common.builder import (
    Buffer,
    Expr,
    Parameter,
    T,
    bind,
    build_kernel,
    ceil_div,
    f64,
    i64,
    minimum,
    registers,
)
from .lanes import Lanes, over_channels
from .vector import VectorTarget

VECTORS = 4  # independent sums, to hide the latency of an addition
ROWS = 8  # rows per task


def _row_sum(target: VectorTarget, features: int, term: Callable[[Lanes, Expr], Expr]) -> Expr:
    """The sum of term(lanes, c), float64, over the channels: per lane first, then pairwise."""
    sums = registers(VECTORS * target.lanes, "float64")
    rest = registers(1, "float64")
    slots = [i64(i * target.lanes) for i in range(VECTORS)]
    for slot in slots:
        target.store(sums, slot, target.splat(0.0, "float64"))
    T.buffer_store(rest, f64(0), [i64(0)])

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


def layer_norm(
    target: VectorTarget, features: int, epsilon: float, terms: int = 1, rounding: bool = False
) -> tirx.PrimFunc:
    """The kernel (x0, ..., weight, bias) -> y[, rounding], all float32.

    The `terms` tensors x0, ... and the results are [M, N]; weight, bias [N]; M >= 1. X is the sum
    of the tensors, and y + rounding is Y with the digits of two float32 numbers.
    """
    N = features
    rows = tirx.Var("M", "int64")

    def body(*buffers: Buffer) -> None:
        tensors, (weight, bias, y, *lost) = buffers[:terms], buffers[terms:]

        def wide(lanes: Lanes, buffer: Buffer, index: Expr) -> Expr:
            return lanes.cast(lanes.load(buffer, index), "float64")

        def value(lanes: Lanes, index: Expr) -> Expr:
            return reduce(operator.add, (wide(lanes, each, index) for each in tensors))

        def normalize(start: Expr) -> None:
            def mean_of(term: Callable[[Lanes, Expr], Expr]) -> Expr:
                return bind(_row_sum(target, N, term) * f64(1.0 / N))

            mean = mean_of(lambda lanes, c: value(lanes, start + c))

            def deviation(lanes: Lanes, c: Expr) -> Expr:
                return bind(value(lanes, start + c) - lanes.splat(mean))

            def squared(lanes: Lanes, c: Expr) -> Expr:
                difference = deviation(lanes, c)
                return difference * difference

            rstd = bind(f64(1) / tirx.sqrt(mean_of(squared) + f64(epsilon)))

            def write(lanes: Lanes, _: int, c: Expr) -> None:
                normal = bind(deviation(lanes, c) * lanes.splat(rstd))
                exact = bind(normal * wide(lanes, weight, c) + wide(lanes, bias, c))
                rounded = bind(lanes.cast(exact, "float32"))
                lanes.store(y, start + c, rounded)
                for each in lost:
                    left = exact - lanes.cast(rounded, "float64")
                    lanes.store(each, start + c, lanes.cast(left, "float32"))

            over_channels(target, N, 1, write)

        with T.parallel(i64(0), ceil_div(rows, ROWS)) as task:
            first = bind(task * ROWS)
            with T.serial(i64(0), bind(minimum(rows - first, ROWS))) as r:
                normalize(bind((first + r) * N))

    name = f"layer_norm_n{N}_e{epsilon:g}_t{terms}{'_rounding' if rounding else ''}_v{target.lanes}"
    return build_kernel(
        name.replace("-", "m").replace(".", "_"),
        [
            *(Parameter(f"x{i}", (rows, N)) for i in range(terms)),
            Parameter("weight", (N,)),
            Parameter("bias", (N,)),
            Parameter("y", (rows, N)),
            *([Parameter("rounding", (rows, N))] if rounding else []),
        ],
        body,
    )
