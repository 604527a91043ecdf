"""What a peer has to offer to take part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kokoro_pipeline.benchmarking.timed_functions import Functions
from kokoro_pipeline.benchmarking.verification import Tolerance


@dataclass(frozen=True)
class BackendOptions:
    """What a backend is made from."""

    threads: int
    weights: Path
    """A folder in the hub's layout."""
    models: Path
    """A folder of NAME.onnx, for those that read it."""


class Backend(Protocol):
    """One runtime with the model loaded, made from BackendOptions."""

    tolerance: Tolerance

    def specialize(self, symbols: Mapping[str, int]) -> Functions:
        """The six functions for the sizes B, n and t, and those only."""

    def versions(self) -> dict[str, str]:
        """Of what computes."""
