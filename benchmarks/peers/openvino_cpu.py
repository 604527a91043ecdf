"""OpenVINO on the CPU, with one compiled model per function and fixed shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import openvino

from kokoro_pipeline.benchmarking.machine import installed_versions
from kokoro_pipeline.benchmarking.timed_functions import Functions
from kokoro_pipeline.compiler.model.components import SIGNATURES

from .backend import BackendOptions
from .onnx_export import input_shapes
from .verification import FLOAT32, REDUCED


class OpenVinoBackend:
    """float32, optimized for the latency of a single request."""

    tolerance = FLOAT32
    precision = "f32"

    def __init__(self, options: BackendOptions) -> None:
        self._options = options
        self._core = openvino.Core()

    def specialize(self, symbols: Mapping[str, int]) -> Functions:
        """Compile models for the sizes."""
        return {name: self._function(name, dict(symbols)) for name in SIGNATURES}

    def versions(self) -> dict[str, str]:
        """The version of openvino."""
        return installed_versions("openvino")

    def _function(self, name: str, symbols: dict[str, int]) -> Callable[..., Any]:
        model = self._core.read_model(self._options.models / f"{name}.onnx")
        shapes = input_shapes(name, symbols)
        taken = {tensor.get_any_name() for tensor in model.inputs}
        model.reshape({tensor: shapes[tensor] for tensor in taken})
        # Phases in bfloat16 would be meaningless, so the source always uses float32.
        precision = "f32" if name == "source_forward" else self.precision
        compiled = self._core.compile_model(
            model,
            "CPU",
            {
                "INFERENCE_NUM_THREADS": self._options.threads,
                "PERFORMANCE_HINT": "LATENCY",
                "NUM_STREAMS": 1,
                "INFERENCE_PRECISION_HINT": precision,
                "CPU_DENORMALS_OPTIMIZATION": True,
            },
        )
        request = compiled.create_infer_request()

        def call(*arrays: Any) -> Any:
            feeds = {
                tensor: np.ascontiguousarray(array)
                for tensor, array in zip(shapes, arrays, strict=True)
                if tensor in taken
            }
            results = request.infer(feeds, share_inputs=True)
            outputs = [results[output] for output in compiled.outputs]
            return outputs[0] if len(outputs) == 1 else tuple(outputs)

        return call


class OpenVinoBfloat16Backend(OpenVinoBackend):
    """The same in bfloat16, for CPUs that support it: faster, but with different audio."""

    tolerance = REDUCED
    precision = "bf16"
