"""`noise_forward`: the noise of the harmonic source, drawn from a key where it is needed.

kokoro draws it as `torch.randn_like(sine_waves)`. Here it is a function of the artifact, which uses
every core, and on a device needs no copy from the host.
"""

from __future__ import annotations

from torch import Tensor, nn

from kokoro_pipeline.config import N_HARMONICS, SAMPLES_PER_FRAME

from .components import Component, Signature, example_inputs
from .operators import standard_normals

NOISE = "noise_forward"

SIGNATURE = Signature(
    {"frames": ("int64", ("t",)), "key": ("int64", (2,))},
    {"noise": ("float32", (1, f"{SAMPLES_PER_FRAME}*t", N_HARMONICS))},
)
"""Of `frames` only the length counts. `key` is two words of 32 bits."""


class NoiseForward(nn.Module):
    """Standard normals, which depend on the key and their place only."""

    def forward(self, frames: Tensor, key: Tensor) -> Tensor:
        """Draw `noise` for the number of `frames`; see `SIGNATURE`."""
        return standard_normals(frames, key, SAMPLES_PER_FRAME, N_HARMONICS)


def make_noise() -> Component:
    """The component of `noise_forward`; it has no parameters."""
    return Component(NOISE, NoiseForward(), SIGNATURE, example_inputs(SIGNATURE))
