"""Elementwise operators for Metal keep the accuracy of float32 and use no inaccurate function."""

from __future__ import annotations

import re

import numpy as np
import pytest
import tvm
from tvm import relax, tirx

from kokoro_pipeline.compiler.lowering.parameter_table import PARAMETER_NAMES, ParameterTable
from kokoro_pipeline.compiler.passes.pipeline import phases, run_phases
from tvm_gpu_emulator import emulate

METAL = tvm.target.Target({"kind": "metal", "thread_warp_size": 32}, host="llvm")


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


# name: operator, its truth, the largest argument, absolute and relative error
FUNCTIONS = {
    "exp": (relax.op.exp, np.exp, 87.0, 0.0, 1.5e-7),
    "sigmoid": (relax.op.sigmoid, lambda x: 1 / (1 + np.exp(-x)), 87.0, 1.2e-7, 0.0),
    "tanh": (relax.op.tanh, np.tanh, 40.0, 2e-7, 0.0),
    "gelu_tanh": (relax.op.nn.gelu_tanh, gelu, 10.0, 3e-7, 3e-7),
    "sin": (relax.op.sin, np.sin, 1e4, 1.5e-7, 0.0),
    "cos": (relax.op.cos, np.cos, 1e4, 1.5e-7, 0.0),
}


@pytest.fixture(scope="module", params=[0, 2], ids=["opt 0", "opt 2"])
def executable(request):
    """A function for each operator, through every phase."""
    builder = relax.BlockBuilder()
    for name, (operator, *_) in FUNCTIONS.items():
        x = relax.Var("x", relax.TensorType([tirx.Var("n", "int64")], "float32"))
        with builder.function(name, [x], attrs={PARAMETER_NAMES: [], "num_input": 1}):
            with builder.dataflow():
                output = builder.emit_output(operator(x))
            builder.emit_func_output(output)
    todo = phases(request.param, METAL, ParameterTable(), list(FUNCTIONS))
    return emulate(run_phases(builder.get(), todo, METAL), METAL, relax_pipeline=None)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_error(executable, name):
    _, truth, largest, absolute, relative = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-largest, largest, 50000), rng.uniform(-3, 3, 50000), [0.0]])
    x = x.astype(np.float32)
    y = executable[name](x).numpy()
    expected = truth(x.astype(np.float64))
    assert (np.abs(y - expected) <= absolute + relative * np.abs(expected)).all()


def test_no_function_that_fast_mathematics_makes_coarse(executable):
    coarse = r"\b(sin|cos|exp|exp2|tanh|log|pow|atan2)\("
    assert re.findall(coarse, executable.source) == []
