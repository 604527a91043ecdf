"""The role of a peer: one backend, with one case at a time."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path

from kokoro_pipeline.benchmarking.machine import ProcessMemory, process_memory
from kokoro_pipeline.benchmarking.samples import Sample
from kokoro_pipeline.benchmarking.timed_functions import Functions

from .backend import Backend, BackendOptions
from .chunk_inputs import Case, load_case
from .speaking import speak_case
from .verification import Agreement, verify

BACKENDS: Mapping[str, str] = {
    "pytorch": ".pytorch:EagerBackend",
    "torch.compile": ".pytorch:CompiledBackend",
    "onnxruntime": ".onnx_runtime:OnnxRuntimeBackend",
    "openvino": ".openvino_cpu:OpenVinoBackend",
    "openvino-bf16": ".openvino_cpu:OpenVinoBfloat16Backend",
}


class PeerRole:
    """Answers for one peer; see `ContenderProcess`."""

    def __init__(self, role: str, threads: int, *, weights: str, models: str) -> None:
        module, _, name = BACKENDS[role].partition(":")
        kind = getattr(importlib.import_module(module, __package__), name)
        self._backend: Backend = kind(BackendOptions(threads, Path(weights), Path(models)))
        self._case: Case | None = None
        self._functions: Functions = {}

    def versions(self) -> dict[str, str]:
        """The versions of the packages in use."""
        return self._backend.versions()

    def memory(self) -> ProcessMemory:
        """The memory of this process."""
        return process_memory()

    def prepare(self, path: str) -> None:
        """Load the case for `verify` and `run`, and compile for its lengths if necessary."""
        self._functions = {}  # free those of the last case first
        self._case = load_case(Path(path))
        self._functions = self._backend.specialize(self._case.symbols)

    def verify(self, reference: str) -> list[Agreement]:
        """Compare each function with PyTorch's result for the same inputs."""
        return verify(self._functions, Path(reference), self._backend.tolerance)

    def run(self) -> Sample:
        """Run the prepared case."""
        assert self._case is not None, "prepare comes first"
        return speak_case(self._functions, self._case)[1]
