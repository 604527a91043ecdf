"""The PyTorch half: Kokoro as six modules that `torch.export` can export with symbolic lengths.

Each module shares the parameters of a stock `kokoro.KModel` and computes the same function with
operations that keep shapes symbolic: there are no packed sequences and no data-dependent control
flow, and lengths are an input. Nothing here depends on TVM. Needs torch and kokoro (the `build`
extra).
"""

from .components import COMPONENT_NAMES, Component, make_components
from .operators import lstm_recurrence, masked_attention

__all__ = [
    "COMPONENT_NAMES",
    "Component",
    "lstm_recurrence",
    "make_components",
    "masked_attention",
]
