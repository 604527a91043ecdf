"""Adaptive instance norm with its activation in one pass, given the statistics of its input.

It computes the function of `producer`. A convolution with that producer keeps the result in shared
memory; this kernel writes it to global memory.
"""

from __future__ import annotations

from tvm import tirx

from .producer import Producer, arguments_of, channel_function, coefficients_of
from .threads import Buffer, Parameter, T, bind, build_kernel, ceil_div, i32, launch, store

THREADS = 256


def adain(channels: int, producer: Producer) -> tirx.PrimFunc:
    """The kernel (x, *producer arguments) -> y, all float32: x, y [B, C, L]; B and L >= 1."""
    C = channels
    batch, length = tirx.Var("B", "int64"), tirx.Var("L", "int64")

    def body(x: Buffer, *rest: Buffer) -> None:
        *arguments, y = rest
        L = bind(i32(length))
        grid = [ceil_div(L, THREADS), C, i32(batch)]
        with launch(grid, [THREADS]) as ((block, c, b), (thread,)):
            i = bind(block * THREADS + thread)
            with T.If(i < L), T.Then():
                at = bind((b * C + c) * L + i)
                given = arguments_of(producer, arguments, C, b, c)
                function = channel_function(producer, coefficients_of(producer, given))
                store(y, at, function(x[at]))

    return build_kernel(
        f"gpu_adain_c{C}{producer.name}",
        [
            Parameter("x", (batch, C, length)),
            *producer.parameters(batch, C),
            Parameter("y", (batch, C, length)),
        ],
        body,
    )
