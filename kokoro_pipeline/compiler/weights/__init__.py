"""Where the parameters come from: the hub, a local folder, or the synthetic stand-in.

The building half's. `resolve` finds a folder, `load_state`, `load_model` and `load_voices` read it,
`write_synthetic` writes one. Importing this imports neither torch nor the hub's client; calling
does.
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
