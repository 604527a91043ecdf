"""The compiled functions of an artifact for the CPU, with their parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kokoro_pipeline.artifact.manifest import ALIGNMENT
from kokoro_pipeline.artifact.reader import Artifact

from .arrays import Array, aligned_copy
from .library import VirtualMachine, release_pool


class Executable:
    """Calls the compiled functions. Create and use it on one thread only.

    Raises ArtifactError if the library or the parameters cannot be used.
    """

    def __init__(self, artifact: Artifact, tvm_ffi: Any) -> None:
        self._tvm_ffi = tvm_ffi
        machine = VirtualMachine(artifact.library, tvm_ffi)
        self._functions: dict[str, Any] = {}
        self._parameters: dict[str, list[Any]] = {}
        for name in artifact.manifest.functions:
            self._functions[name] = machine.function(name)
            self._parameters[name] = [self._tensor(array) for array in artifact.parameters(name)]
        self._last_symbols: dict[str, Mapping[str, int]] = {}

    def call(self, name: str, symbols: Mapping[str, int], inputs: Sequence[Array]) -> list[Array]:
        """Call function `name` with arrays that a kernel can read (see `arrays`).

        Returns the outputs as arrays that own their memory and that a kernel can read. `symbols`
        are the values of the symbolic sizes of the inputs.
        """
        # The pooled allocator keeps buffers by exact size forever: drop those of another length.
        if self._last_symbols.get(name, symbols) != symbols:
            release_pool(self._tvm_ffi)
        self._last_symbols[name] = symbols
        tensors = [self._tensor(array) for array in inputs]
        result = self._functions[name](*tensors, *self._parameters[name])
        outputs = [result] if hasattr(result, "__dlpack__") else list(result)
        return [aligned_copy(np.from_dlpack(output)) for output in outputs]

    def _tensor(self, array: Array) -> Any:
        return self._tvm_ffi.from_dlpack(
            array, require_alignment=ALIGNMENT, require_contiguous=True
        )
