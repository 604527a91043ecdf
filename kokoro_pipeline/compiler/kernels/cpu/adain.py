"""Adaptive instance norm with its activation, in one pass; its statistics come from `statistics`.

The mathematics is `producer`'s: this kernel writes to memory what a convolution that has the
producer itself keeps in its cache.
"""

from __future__ import annotations

from tvm import tirx

from .lanes import Lanes, over_channels
from .producer import Activation, Producer
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
    i64,
    minimum,
    mod,
)

__all__ = ["Activation", "adain"]

ROWS = 32  # of one task


def adain(
    target: VectorTarget,
    channels: int,
    activation: Activation = Activation.NONE,
    slope: float = 0.0,
) -> tirx.PrimFunc:
    """(x, mean, rstd, weight, bias, style[, alpha]) -> y; see `producer`.

    All float32: x, y [B, L, C]; mean, rstd [B, C] as `channel_statistics` gives them; weight, bias
    [C]; style [B, 2C], gamma before beta; alpha [C], not 0, with Snake only. `slope` in [0, 1] is
    LeakyReLU's. Snake needs C to be a multiple of the lanes, and |alpha z| <= 1e4 for its accuracy.
    """
    C = channels
    producer = Producer(adain=True, activation=activation, slope=slope)
    producer.check(target, C)
    batch, length = tirx.Var("B", "int64"), tirx.Var("L", "int64")

    def body(x: Buffer, *rest: Buffer) -> None:
        *coefficients, y = rest
        blocks = bind(ceil_div(length, ROWS))
        with T.parallel(i64(0), batch * blocks) as task:
            b = bind(div(task, blocks))
            first = bind(mod(task, blocks) * ROWS)
            start = bind((b * length + first) * C)
            prepared = producer.prepare(target, C, coefficients, b)
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
