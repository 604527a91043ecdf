"""Operations that a kernel applies to its input on reading: AdaIN's affine map, an activation.

Formulas and arguments are those of `kernels.cpu.producer`, in the layout [B, C, L].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tvm import tirx

from ..common.elementary import sin_squared
from ..common.producer import NOTHING, Activation, Producer
from .math import SCALARS, fma
from .threads import Buffer, Expr, const, hold

__all__ = [
    "NOTHING",
    "Activation",
    "Producer",
    "arguments_of",
    "channel_function",
    "coefficients_of",
]


def arguments_of(
    producer: Producer, buffers: Sequence[Buffer], channels: int, b: Expr, c: Expr
) -> list[Expr]:
    """The arguments of batch row b and channel c: one read of memory each, none depends on another.

    `buffers` are the arguments that `producer.parameters` lists.
    """
    row = b * channels + c
    found = []
    if producer.adain:
        mean, rstd, weight, bias, style = buffers[:5]
        gamma, beta = style[b * (2 * channels) + c], style[b * (2 * channels) + channels + c]
        found += [mean[row], rstd[row], weight[c], bias[c], gamma, beta]
    if producer.activation is Activation.SNAKE:
        found.append(buffers[-1][c])
    return found


def coefficients_of(producer: Producer, arguments: Sequence[Expr]) -> list[Expr]:
    """What the operations need of a channel, computed from what `arguments_of` lists."""
    found = []
    if producer.adain:
        mean, rstd, weight, bias, style_gamma, beta = arguments[:6]
        gamma = hold(style_gamma + const(1))
        found += [mean, hold(gamma * (rstd * weight)), hold(fma(gamma, bias, beta))]
    if producer.activation is Activation.SNAKE:
        found.append(arguments[-1])
    return found


def channel_function(producer: Producer, coefficients: Sequence[Expr]) -> Callable[[Expr], Expr]:
    """The operations for values of the channel whose `coefficients_of` are given.

    The coefficients are read at the point of this call, which should be outside of the loop over
    the values.
    """
    given = [hold(value) for value in coefficients]
    if producer.activation is Activation.SNAKE:
        inverse, turns = hold(const(1) / given[-1]), hold(given[-1] * const(1 / math.pi))

    def apply(value: Expr) -> Expr:
        z = value
        if producer.adain:
            middle, scale, shift = given[:3]
            z = hold(fma(value - middle, scale, shift))
        if producer.activation is Activation.LEAKY_RELU:
            z = hold(z)
            return tirx.max(z * const(producer.slope), z)
        if producer.activation is Activation.SNAKE:
            z = hold(z)
            return hold(fma(sin_squared(SCALARS, z, turns), inverse, z))
        return z

    return apply
