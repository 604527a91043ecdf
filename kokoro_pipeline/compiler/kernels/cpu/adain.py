"""Adaptive instance norm with its activation in one pass, given the statistics of its input.

It computes the function of `producer`. A convolution with that producer keeps the result in the
cache; this kernel writes it to memory.
"""

from __future__ import annotations

from tvm import tirx

from ..common.builder import (
    Buffer,
    Expr,
    Parameter,
    T,
    bind,
    build_kernel,
    ceil_div,
    div,
    i64,
    minimum,
    mod,
)
from ..common.producer import Activation, Producer
from .lanes import Lanes, over_channels
from .producer import Prepared, check_vectors
from .vector import VectorTarget

__all__ = ["Activation", "adain"]

ROWS = 32  # rows per task


def adain(
    target: VectorTarget,
    channels: int,
    activation: Activation = Activation.NONE,
    slope: float = 0.0,
) -> tirx.PrimFunc:
    """The kernel (x, mean, rstd, weight, bias, style[, alpha]) -> y; see `producer`.

    All arguments are float32: x, y [B, L, C]; mean, rstd [B, C] as computed by
    `channel_statistics`; weight, bias [C]; style [B, 2C], gamma before beta; alpha [C], nonzero,
    only with Snake. `slope` in [0, 1] is that of LeakyReLU. The result of Snake is accurate for
    |alpha z| <= 1e4.

    Raises InputError for Snake if C is not a multiple of the lanes.
    """
    C = channels
    producer = Producer(adain=True, activation=activation, slope=slope)
    check_vectors(producer, target, C)
    batch, length = tirx.Var("B", "int64"), tirx.Var("L", "int64")

    def body(x: Buffer, *rest: Buffer) -> None:
        *coefficients, y = rest
        blocks = bind(ceil_div(length, ROWS))
        with T.parallel(i64(0), batch * blocks) as task:
            b = bind(div(task, blocks))
            first = bind(mod(task, blocks) * ROWS)
            start = bind((b * length + first) * C)
            prepared = Prepared(producer, target, C, coefficients, b)
            with T.serial(i64(0), bind(minimum(length - first, ROWS))) as t:
                row = bind(start + t * C)

                def apply(lanes: Lanes, _: int, c: Expr) -> None:
                    value = prepared.at(lanes, c)(lanes.load(x, row + c))
                    lanes.store(y, row + c, value)

                over_channels(target, C, 1, apply)

    return build_kernel(
        f"adain_c{C}{producer.name.removeprefix('_adain')}_v{target.lanes}",
        [
            Parameter("x", (batch, length, C)),
            *producer.parameters(batch, C),
            Parameter("y", (batch, length, C)),
        ],
        body,
    )
