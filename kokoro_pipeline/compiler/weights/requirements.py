"""Lazy imports of the packages of the building half, with errors that say what to install."""

from __future__ import annotations

import importlib
from typing import Any

from kokoro_pipeline.errors import EnvironmentFault
from kokoro_pipeline.extras import install_command


def building_module(name: str) -> Any:
    """Import the module `name` (torch, kokoro, huggingface_hub).

    Raises EnvironmentFault, which names the extra to install, if it cannot be imported.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise EnvironmentFault(
            f"weights are read with {name}, which this Python cannot import ({error}). "
            f"Install the building half: {install_command('build')}"
        ) from error
