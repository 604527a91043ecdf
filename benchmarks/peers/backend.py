"""The interface of a peer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kokoro_pipeline.benchmarking.timed_functions import Functions

from .verification import Tolerance


@dataclass(frozen=True)
class BackendOptions:
    """The constructor argument of a backend."""

    threads: int
    weights: Path
    """A folder in the hub's layout."""
    models: Path
    """A folder of NAME.onnx, for backends that need it."""


class Backend(Protocol):
    """A runtime with the model loaded, created from BackendOptions."""

    tolerance: Tolerance

    def specialize(self, symbols: Mapping[str, int]) -> Functions:
        """The six functions, for the sizes B, n and t only."""

    def versions(self) -> dict[str, str]:
        """The versions of the packages in use."""
