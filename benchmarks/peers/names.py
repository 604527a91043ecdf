"""The names of the peers and the packages they need, which are not imported here."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence

from kokoro_pipeline.errors import EnvironmentFault, InputError
from kokoro_pipeline.extras import install_command

_BUILD = ("torch", "kokoro")
PEERS: Mapping[str, tuple[str, ...]] = {
    "pytorch": _BUILD,
    "torch.compile": _BUILD,
    "onnxruntime": (*_BUILD, "onnx", "onnxruntime"),
    "openvino": (*_BUILD, "onnx", "openvino"),
    "openvino-bf16": (*_BUILD, "onnx", "openvino"),
}
"""Modules that each peer needs; torch and kokoro are for the reference and the export."""

EXPORTED = ("onnxruntime", "openvino", "openvino-bf16")
"""Peers that load the model as ONNX."""


def check_peers(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names in the given order without duplicates.

    Raises InputError for an unknown name, EnvironmentFault for missing packages.
    """
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        raise InputError(f"no peer {', '.join(unknown)}: there are {', '.join(PEERS)}")
    unique = tuple(dict.fromkeys(names))
    for name in unique:
        missing = [m for m in PEERS[name] if importlib.util.find_spec(m) is None]
        if missing:
            extras = ["build", "bench"] if set(missing) & set(_BUILD) else ["bench"]
            raise EnvironmentFault(
                f"comparing with {name} needs {' and '.join(missing)}, not installed here: "
                f"{install_command(*extras)}"
            )
    return unique
