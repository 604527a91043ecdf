"""The peers there are, and what each needs to be installed. Imports none of it."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence

from ..errors import EnvironmentFault, InputError

_BUILD = ("torch", "kokoro")
PEERS: Mapping[str, tuple[str, ...]] = {
    "pytorch": _BUILD,
    "torch.compile": _BUILD,
    "onnxruntime": (*_BUILD, "onnx", "onnxruntime"),
    "openvino": (*_BUILD, "onnx", "openvino"),
    "openvino-bf16": (*_BUILD, "onnx", "openvino"),
}
"""Modules that each peer needs; torch and kokoro give the reference and the export."""

EXPORTED = ("onnxruntime", "openvino", "openvino-bf16")
"""Peers that read the model as ONNX."""


def check_peers(names: Sequence[str]) -> tuple[str, ...]:
    """The names, each once, in the order given.

    Raises InputError for a name that is no peer and EnvironmentFault for what is not installed.
    """
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        raise InputError(f"no peer {', '.join(unknown)}: there are {', '.join(PEERS)}")
    unique = tuple(dict.fromkeys(names))
    for name in unique:
        missing = [m for m in PEERS[name] if importlib.util.find_spec(m) is None]
        if missing:
            extras = "build,bench" if set(missing) & set(_BUILD) else "bench"
            raise EnvironmentFault(
                f"comparing with {name} needs {' and '.join(missing)}, not installed here: "
                f"pip install 'tvm-kokoro[{extras}]'"
            )
    return unique
