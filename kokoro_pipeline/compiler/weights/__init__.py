"""The model weights: from the hub, a local folder, or synthetic.

This is part of the building half. `resolve` finds a folder, `load_state`, `load_model` and
`load_voices` read it, and `write_synthetic` writes one. Importing this package imports neither
torch nor the client of the hub; calling its functions does.
"""

from __future__ import annotations

from .folder import WeightsFolder, load_model, load_state, load_voices, open_folder
from .resolving import resolve
from .synthetic import write_synthetic

__all__ = [
    "WeightsFolder",
    "load_model",
    "load_state",
    "load_voices",
    "open_folder",
    "resolve",
    "write_synthetic",
]
