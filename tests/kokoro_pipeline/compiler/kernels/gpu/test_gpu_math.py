"""The elementary functions meet their documented errors on both devices."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from tvm import tirx

from kokoro_pipeline.compiler.kernels.common import elementary
from kokoro_pipeline.compiler.kernels.gpu.math import SCALARS
from kokoro_pipeline.compiler.kernels.gpu.threads import (
    Parameter,
    T,
    bind,
    build_kernel,
    ceil_div,
    i32,
    launch,
    store,
)


def over_elements(name, function):
    """y[i] = function(x[i]) as a kernel."""
    length = tirx.Var("L", "int64")

    def body(x, y):
        count = bind(i32(length))
        with launch([ceil_div(count, 64)], [64]) as ((block,), (thread,)):
            i = bind(block * 64 + thread)
            with T.If(i < count), T.Then():
                store(y, i, function(x[i]))

    return build_kernel(
        f"test_{name}", [Parameter("x", (length,)), Parameter("y", (length,))], body
    )


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


TURNS = np.float32(1 / np.pi)


def function_of(name):
    """The function (arithmetic, x) of a name."""
    if name == "sin_squared":
        return lambda m, x: elementary.sin_squared(m, x, m.const(float(TURNS)))
    return getattr(elementary, name)


# name: its truth, the largest argument, absolute and relative error
FUNCTIONS = {
    "exp": (np.exp, 87.0, 0.0, 1.5e-7),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 87.0, 1.2e-7, 0.0),
    "tanh": (np.tanh, 40.0, 0.0, 2.5e-7),
    "gelu_tanh": (gelu, 10.0, 3e-7, 3e-7),
    "sin": (np.sin, 1e4, 1.5e-7, 0.0),
    "sin_squared": (lambda x: np.sin(np.pi * x * float(TURNS)) ** 2, 1e4, 2.5e-7, 0.0),
}


@pytest.fixture(scope="module")
def kernels(kind, compile_kernels):
    functions = {
        name: over_elements(name, partial(function_of(name), SCALARS)) for name in FUNCTIONS
    }
    return compile_kernels(kind, functions, check=False)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_error(kernels, name):
    truth, largest, absolute, relative = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    small = 10 ** rng.uniform(-25, 0, 10000) * rng.choice([-1, 1], 10000)
    x = np.concatenate(
        [rng.uniform(-largest, largest, 50000), rng.uniform(-3, 3, 50000), small, [0.0]]
    )
    x = x.astype(np.float32)
    y = kernels(name, [x], x.shape)
    expected = truth(x.astype(np.float64))
    assert (np.abs(y - expected) <= absolute + relative * np.abs(expected)).all()


def test_exp_stays_finite(kernels):
    y = kernels("exp", [np.array([-1e30, -200, 200, 1e30], np.float32)], (4,))
    assert np.isfinite(y).all()
    assert y[0] < 1e-37
    assert y[3] > 1e38
