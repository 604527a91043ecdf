"""The Metal compiler gets the exact float32 constants of a kernel."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import tirx

from kokoro_pipeline.compiler.kernels.gpu.threads import (
    Parameter,
    T,
    bind,
    build_kernel,
    ceil_div,
    const,
    i32,
    launch,
    store,
)
from kokoro_pipeline.compiler.passes.exact_constants import exact_constants
from tvm_gpu_emulator import emulate

METAL = tvm.target.Target({"kind": "metal", "thread_warp_size": 32}, host="llvm")
CONSTANTS = (0.5, 1.0, 2.0**58, 2.0**-126, 1 / 3, -0.0, float(np.float32(np.pi)), 9.67502593994e-4)


def constants():
    """y[i] = the i-th constant where x[i] is 1."""
    length = tirx.Var("L", "int64")

    def body(x, y):
        with launch([ceil_div(bind(i32(length)), 32)], [1]) as ((block,), (thread,)):
            for i, value in enumerate(CONSTANTS):
                with T.If(block == thread), T.Then():
                    store(y, i, x[i32(i)] * const(value))

    return build_kernel("constants", [Parameter("x", (length,)), Parameter("y", (length,))], body)


def run(module):
    y = np.full(len(CONSTANTS), np.nan, np.float32)
    emulate(module, METAL)["constants"](np.ones(len(CONSTANTS), np.float32), y)
    return y.tobytes()


def test_constants_are_exact():
    expected = np.array(CONSTANTS, np.float32).tobytes()
    module = tvm.IRModule({"constants": constants()})
    assert run(exact_constants(module)) == expected
    # Without the pass they are not: when TVM writes them all, the pass can go.
    assert run(module) != expected


@pytest.mark.parametrize("value", [0.5, 3.0, float("inf"), float("-inf"), float("nan")])
def test_what_seven_digits_hold_stays(value):
    body = tirx.Evaluate(const(value))
    module = tvm.IRModule({"f": tirx.PrimFunc([], body)})
    assert isinstance(exact_constants(module)["f"].body.value, tirx.FloatImm)
