"""Operations that a kernel applies to its input on reading: AdaIN's affine map, an activation.

    z = (X - mean) * scale + shift                      scale = (1 + gamma) * rstd * W
    Y = z,  max(z, slope * z)  or  z + sin^2(alpha z) / alpha        (LeakyReLU, Snake)

with shift = (1 + gamma) * B + beta, all per batch row and channel, computed in float64 and rounded
once. The mean is subtracted first, so that a large mean does not cost accuracy. Without AdaIN, z
is X.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tvm import tirx

from kokoro_pipeline.errors import InputError

from ..common.builder import Buffer, Expr, bind, f64, workspace
from ..common.elementary import sin_squared
from ..common.producer import Activation, Producer
from .lanes import Lanes, over_channels
from .vector import VectorTarget


def check_vectors(producer: Producer, target: VectorTarget, channels: int) -> None:
    """Raise InputError if Snake is used and the channels do not divide into vectors."""
    if producer.activation is Activation.SNAKE and channels % target.lanes:
        raise InputError(
            f"Snake over {channels} channels does not divide into vectors of {target.lanes}; "
            "build with --opt 0"
        )


class Prepared:
    """The coefficients of one batch row, in scratch buffers."""

    def __init__(
        self,
        producer: Producer,
        target: VectorTarget,
        channels: int,
        buffers: Sequence[Buffer],
        b: Expr,
    ) -> None:
        self._producer, self._target, self._row = producer, target, b * channels
        snake = producer.activation is Activation.SNAKE
        mean, rstd, weight, bias, style = buffers[:5] if producer.adain else [None] * 5
        self._mean, self._alpha = mean, buffers[-1] if snake else None
        if producer.adain:
            self._scale, self._shift = workspace(channels), workspace(channels)
        if snake:
            self._inverse, self._turns = workspace(channels), workspace(channels)

        def channel(lanes: Lanes, _: int, c: Expr) -> None:
            if producer.adain:

                def wide(buffer: Buffer, index: Expr) -> Expr:
                    return lanes.cast(lanes.load(buffer, index), "float64")

                gamma = bind(wide(style, b * (2 * channels) + c) + lanes.splat(f64(1)))
                beta = wide(style, b * (2 * channels) + channels + c)
                scale = gamma * wide(rstd, self._row + c) * wide(weight, c)
                shift = gamma * wide(bias, c) + beta
                lanes.store(self._scale, c, lanes.cast(scale, "float32"))
                lanes.store(self._shift, c, lanes.cast(shift, "float32"))
            if snake:
                alpha = bind(lanes.load(self._alpha, c))
                lanes.store(self._inverse, c, lanes.splat(1.0) / alpha)
                lanes.store(self._turns, c, alpha * lanes.splat(1 / math.pi))

        if producer.adain or snake:
            over_channels(target, channels, 1, channel)

    def at(self, lanes: Lanes, c: Expr) -> Callable[[Expr], Expr]:
        """The function to apply to X at channels c, c + 1, ...; Snake requires whole vectors."""
        producer = self._producer
        if producer.adain:
            mean = bind(lanes.load(self._mean, self._row + c))
            scale = bind(lanes.load(self._scale, c))
            shift = bind(lanes.load(self._shift, c))
        if producer.activation is Activation.SNAKE:
            turns = bind(lanes.load(self._turns, c))
            inverse = bind(lanes.load(self._inverse, c))

        def apply(value: Expr) -> Expr:
            z = value
            if producer.adain:
                centred = bind(z - mean)
                z = bind(centred * scale + shift)
            if producer.activation is Activation.LEAKY_RELU:
                z = bind(z)
                return tirx.max(z * lanes.splat(producer.slope), z)
            if producer.activation is Activation.SNAKE:
                z = self._target.hold(z)
                return z + sin_squared(self._target, z, turns) * inverse
            return z

        return apply
