"""A small program for any target, compiled by the builder's own steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="session")
def compile_wave() -> Callable[[Any], Any]:
    """`compile_wave(BuildTarget)`: an executable of `wave(x[n, 64]) = sin(exp(x))`."""
    import tvm
    from tvm import relax

    from kokoro_pipeline.compiler.codegen.packing import device_code_kept_as_text
    from kokoro_pipeline.compiler.gpu_pipeline import gpu_phases
    from kokoro_pipeline.compiler.lowering.parameter_table import PARAMETER_NAMES, ParameterTable
    from kokoro_pipeline.compiler.passes.pipeline import generate_code, phases, run_phases

    def make(target: Any) -> Any:
        x = relax.Var("x", relax.TensorType([tvm.tirx.Var("n", "int64"), 64], "float32"))
        builder = relax.BlockBuilder()
        attributes = {PARAMETER_NAMES: [], "num_input": 1}
        with builder.function("wave", [x], attrs=attributes):
            with builder.dataflow():
                y = builder.emit_output(relax.op.sin(builder.emit(relax.op.exp(x))))
            builder.emit_func_output(y)
        todo = phases if target.kind == "llvm" else gpu_phases
        lowered = run_phases(
            builder.get(), todo(1, target.tvm, ParameterTable(), ["wave"]), target.tvm
        )
        with device_code_kept_as_text():
            return generate_code(lowered, target.tvm)

    return make
