"""What a kernel does to its input while it reads it: AdaIN's affine, an activation, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kokoro_pipeline.errors import InputError

from .builder import Expr, Parameter

MAX_COEFFICIENTS = 4


class Activation(Enum):
    NONE = "none"
    LEAKY_RELU = "leaky_relu"
    SNAKE = "snake"


@dataclass(frozen=True)
class Producer:
    """Selects the steps to apply. `slope`, in [0, 1], is that of LeakyReLU.

    Raises InputError for a slope outside of [0, 1].
    """

    adain: bool = False
    activation: Activation = Activation.NONE
    slope: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.slope <= 1.0:
            raise InputError(f"LeakyReLU's slope is {self.slope}; it must lie in [0, 1]")

    @property
    def name(self) -> str:
        """The suffix of a kernel's name: empty, or starting with an underscore."""
        activation = {
            Activation.NONE: "",
            Activation.LEAKY_RELU: f"_leaky{self.slope:g}",
            Activation.SNAKE: "_snake",
        }[self.activation]
        return ("_adain" if self.adain else "") + activation.replace("-", "m").replace(".", "_")

    @property
    def arguments(self) -> int:
        """The number of values that the steps take of a channel: gamma and beta count as two."""
        return 6 * self.adain + (self.activation is Activation.SNAKE)

    @property
    def coefficients(self) -> int:
        """The number of values computed from them that the steps use, at most MAX_COEFFICIENTS."""
        return 3 * self.adain + (self.activation is Activation.SNAKE)

    def parameters(self, batch: Expr, channels: int) -> list[Parameter]:
        """The arguments after x: mean, rstd [B, C]; weight, bias [C]; style [B, 2C]; alpha [C].

        The first five are present only with AdaIN; style has gamma before beta. alpha, which must
        be nonzero, is present only with Snake.
        """
        adain = [
            Parameter("mean", (batch, channels)),
            Parameter("rstd", (batch, channels)),
            Parameter("weight", (channels,)),
            Parameter("bias", (channels,)),
            Parameter("style", (batch, 2 * channels)),
        ]
        alpha = [Parameter("alpha", (channels,))]
        return (adain if self.adain else []) + (
            alpha if self.activation is Activation.SNAKE else []
        )


NOTHING = Producer()
