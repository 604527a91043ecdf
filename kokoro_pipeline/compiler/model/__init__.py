"""The torch half: Kokoro as six modules that `torch.export` can take with symbolic lengths.

Each module borrows the parameters of a stock `kokoro.KModel` and says the same mathematics in
operations that keep their shapes symbolic: no packed sequences, no data-dependent control flow,
lengths as an input. Nothing here knows TVM. Needs torch and kokoro (the `build` extra).
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
