"""ONNX Runtime on the CPU, with one session per function and fixed shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import onnxruntime

from kokoro_pipeline.benchmarking.machine import installed_versions
from kokoro_pipeline.benchmarking.timed_functions import Functions
from kokoro_pipeline.compiler.model.components import SIGNATURES

from .backend import BackendOptions
from .onnx_export import dimension_sizes
from .verification import FLOAT32


class OnnxRuntimeBackend:
    """float32, with all graph optimizations and all threads within operators."""

    tolerance = FLOAT32

    def __init__(self, options: BackendOptions) -> None:
        self._options = options

    def specialize(self, symbols: Mapping[str, int]) -> Functions:
        """Create sessions whose symbolic dimensions are replaced by their sizes."""
        return {
            name: self._function(
                self._options.models / f"{name}.onnx", dimension_sizes(name, dict(symbols))
            )
            for name in SIGNATURES
        }

    def versions(self) -> dict[str, str]:
        """The version of onnxruntime."""
        return installed_versions("onnxruntime")

    def _function(self, model: Path, sizes: Mapping[str, int]) -> Callable[..., Any]:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._options.threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 3  # errors only
        options.add_session_config_entry("session.set_denormal_as_zero", "1")
        # Six sessions have six thread pools: an idle one must not spin while another works.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        for dimension, size in sizes.items():
            options.add_free_dimension_override_by_name(dimension, size)
        session = onnxruntime.InferenceSession(
            str(model), options, providers=["CPUExecutionProvider"]
        )
        names = list(SIGNATURES[model.stem].inputs)
        taken = {tensor.name for tensor in session.get_inputs()}

        def call(*arrays: Any) -> Any:
            feeds = {
                name: array for name, array in zip(names, arrays, strict=True) if name in taken
            }
            outputs = session.run(None, feeds)
            return outputs[0] if len(outputs) == 1 else tuple(outputs)

        return call
