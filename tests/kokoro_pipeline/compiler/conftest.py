"""A small program for any target, compiled by the steps of the builder, and TVM's threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

MOST_THREADS = 5


def pytest_collection_finish() -> None:
    """Start TVM's pool with room for as many threads as tests ask for.

    It never grows, and would start with half the CPUs at the first kernel: with one, on a machine
    of two, where every number of threads gave the same bits because there was one.
    """
    import tvm

    configure = tvm.get_global_func("runtime.config_threadpool")
    configure(0, MOST_THREADS, [str(index) for index in range(MOST_THREADS)])
    configure(0, max(1, (os.cpu_count() or 1) // 2))


@pytest.fixture
def set_threads() -> Iterator[Callable[[int], None]]:
    """Set how many threads TVM's pool uses; the machine's own number comes back afterwards."""
    import tvm

    configure = tvm.get_global_func("runtime.config_threadpool")
    counted = tvm.get_global_func("runtime.NumThreads")

    def use(count: int) -> None:
        configure(0, count)
        assert counted() == count

    yield use
    configure(0, max(1, (os.cpu_count() or 1) // 2))


@pytest.fixture(scope="session")
def compile_wave() -> Callable[[Any], Any]:
    """`compile_wave(BuildTarget)`: an executable of `wave(x[n, 64]) = sin(exp(x))`."""
    import tvm
    from tvm import relax

    from kokoro_pipeline.compiler.codegen.packing import device_code_kept_as_text
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
        todo = phases(1, target.tvm, ParameterTable(), ["wave"])
        lowered = run_phases(builder.get(), todo, target.tvm)
        with device_code_kept_as_text():
            return generate_code(lowered, target.tvm)

    return make
