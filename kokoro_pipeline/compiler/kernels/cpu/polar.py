"""The complex spectrum from log-magnitudes and the arcsines of phases, as the vocoder outputs them.

    real = e^x cos(sin p),    imaginary = e^x sin(sin p)

The bins of a row are too few to fill vectors, so the bins of neighbouring rows are concatenated.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tvm import tirx

from ..common.builder import Buffer, Expr, Parameter, T, bind, build_kernel, ceil_div, i64, minimum
from ..common.elementary import exp, sin
from .vector import VectorTarget

ROWS = 64  # rows per task


def polar_to_complex(target: VectorTarget, bins: int) -> tirx.PrimFunc:
    """The kernel x -> y, both float32 [B, L, 2 bins]; B and L are at least 1.

    A row of x holds the logarithms of the magnitudes (clamped to [-87, 88]), then p with
    |p| <= 1e4. A row of y holds the real, then the imaginary parts. The error against float64 is
    4e-7 of the magnitude.
    """
    V = target.lanes
    batch, length = tirx.Var("B", "int64"), tirx.Var("L", "int64")

    def body(x: Buffer, y: Buffer) -> None:
        rows_all = bind(batch * length)
        with T.parallel(i64(0), bind(ceil_div(rows_all, ROWS))) as task:
            first = bind(task * ROWS)
            rows = bind(minimum(rows_all - first, ROWS))
            size = -(-ROWS * bins // V) * V
            halves = [T.alloc_buffer((size,), "float32") for _ in range(2)]

            def each(move: Callable[[Buffer, Expr, Expr], None]) -> None:
                """Call move(half, index in the half, index in the tensor) for all numbers."""
                with T.serial(i64(0), rows) as r:
                    for part, half in enumerate(halves):
                        row = bind((first + r) * (2 * bins) + part * bins)
                        with T.serial(i64(0), i64(bins)) as k:
                            move(half, r * bins + k, row + k)

            def gather(half: Buffer, at: Expr, place: Expr) -> None:
                T.buffer_store(half, x[place], [at])

            def scatter(half: Buffer, at: Expr, place: Expr) -> None:
                T.buffer_store(y, half[at], [place])

            each(gather)
            with T.serial(i64(0), ceil_div(rows * bins, V)) as vector:
                at = bind(vector * V)
                magnitude = exp(target, target.load(halves[0], at))
                phase = target.hold(sin(target, target.load(halves[1], at)))
                cosine = sin(target, phase + target.splat(math.pi / 2))
                target.store(halves[0], at, magnitude * cosine)
                target.store(halves[1], at, magnitude * sin(target, phase))
            each(scatter)

    shape = (batch, length, 2 * bins)
    return build_kernel(
        f"polar_to_complex_k{bins}_v{V}", [Parameter("x", shape), Parameter("y", shape)], body
    )
