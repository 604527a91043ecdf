"""`align_forward`: repeats token columns over frames, for features that are on a device.

On the CPU, numpy does this between two calls. On a GPU it is a function of the artifact, so
that only the durations are copied to the host between the other six.
"""

from __future__ import annotations

from torch import Tensor, nn

from .components import Component, Signature, example_inputs

ALIGN = "align_forward"

SIGNATURE = Signature(
    {
        "d": ("float32", (1, "n", 640)),
        "t_en": ("float32", (1, 512, "n")),
        "tokens": ("int64", ("t",)),
    },
    {"en": ("float32", (1, 640, "t")), "asr": ("float32", (1, 512, "t"))},
)
"""`tokens` is the index of the token that each frame belongs to."""


class AlignForward(nn.Module):
    """kokoro's products with a 0/1 alignment matrix, computed by indexing."""

    def forward(self, d: Tensor, t_en: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Compute `en` and `asr` from `d`, `t_en` and `tokens`; see `SIGNATURE`."""
        return d.index_select(1, tokens).transpose(1, 2).contiguous(), t_en.index_select(2, tokens)


def make_alignment() -> Component:
    """The component of `align_forward`; it has no parameters."""
    return Component(ALIGN, AlignForward(), SIGNATURE, example_inputs(SIGNATURE))
