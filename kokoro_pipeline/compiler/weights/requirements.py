"""Import what only the building half needs, when it is needed, with an error that says what to
install.
"""

from __future__ import annotations

import importlib
from typing import Any

from kokoro_pipeline.errors import EnvironmentFault


def building_module(name: str) -> Any:
    """The module `name` (torch, kokoro, huggingface_hub).

    Raises EnvironmentFault naming the extra to install where it is missing or does not import.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise EnvironmentFault(
            f"weights are read with {name}, which this Python cannot import ({error}). "
            "Install the building half: pip install 'tvm-kokoro[build]'"
        ) from error
