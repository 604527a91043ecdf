"""Operations that a kernel applies to its input on reading: AdaIN's affine map, an activation.

Formulas and arguments are those of `kernels.cpu.producer`, in the layout [B, C, L].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tvm import tirx

from ..common.elementary import sin_squared
from ..common.producer import NOTHING, Activation, Producer
from .math import SCALARS, fma
from .threads import Buffer, Expr, const, hold

__all__ = ["NOTHING", "Activation", "Producer", "channel_function"]


def channel_function(
    producer: Producer, buffers: Sequence[Buffer], channels: int, b: Expr, c: Expr
) -> Callable[[Expr], Expr]:
    """The function to apply to the values of x in batch row b and channel c.

    `buffers` are the arguments that `producer.parameters` lists. The coefficients are computed at
    the point of this call, which should be outside of the loop over a row.
    """
    row = b * channels + c
    if producer.adain:
        mean, rstd, weight, bias, style = buffers[:5]
        gamma = hold(style[b * (2 * channels) + c] + const(1))
        beta = style[b * (2 * channels) + channels + c]
        middle = hold(mean[row])
        scale = hold(gamma * (rstd[row] * weight[c]))
        shift = hold(fma(gamma, bias[c], beta))
    if producer.activation is Activation.SNAKE:
        alpha = hold(buffers[-1][c])
        inverse = hold(const(1) / alpha)

    def apply(value: Expr) -> Expr:
        z = value
        if producer.adain:
            z = hold(fma(value - middle, scale, shift))
        if producer.activation is Activation.LEAKY_RELU:
            z = hold(z)
            return tirx.max(z * const(producer.slope), z)
        if producer.activation is Activation.SNAKE:
            z = hold(z)
            return hold(fma(sin_squared(SCALARS, z * alpha), inverse, z))
        return z

    return apply
