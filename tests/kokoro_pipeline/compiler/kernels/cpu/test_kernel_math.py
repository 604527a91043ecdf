"""The elementary functions: documented errors, NaN, and the same bits in every arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import te, tirx

from kokoro_pipeline.compiler.kernels.common import elementary
from kokoro_pipeline.compiler.kernels.common.builder import Parameter, T, build_kernel, i64
from kokoro_pipeline.compiler.passes.elementary_functions import ScalarExpression


def sigmoid64(x):
    return 1 / (1 + np.exp(-x))


def gelu64(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


TURNS = np.float32(1 / np.pi)


def function_of(name):
    """The function (arithmetic, x) of a name."""
    if name == "sin_squared":
        return lambda m, x: elementary.sin_squared(m, x, m.const(float(TURNS)))
    return getattr(elementary, name)


# name: (truth, lowest, highest, largest error, the error is divided by this function of x)
FUNCTIONS = {
    "exp": (np.exp, -87.0, 88.0, 1.2e-7, np.exp),
    "sigmoid": (sigmoid64, -100.0, 100.0, 1.2e-7, np.ones_like),
    "tanh": (np.tanh, -50.0, 50.0, 2.5e-7, lambda x: np.maximum(1e-30, np.abs(np.tanh(x)))),
    "gelu_tanh": (gelu64, -20.0, 20.0, 3e-7, lambda x: np.maximum(1, np.abs(x))),
    "sin": (np.sin, -1e4, 1e4, 1.5e-7, np.ones_like),
    "sin_squared": (
        lambda x: np.sin(np.pi * x * float(TURNS)) ** 2,
        -1e4,
        1e4,
        2.5e-7,
        np.ones_like,
    ),
}

OPERATORS = [name for name in FUNCTIONS if name != "sin_squared"]  # the others are Relax operators


def elementwise(target, name):
    count = tirx.Var("n", "int64")

    def body(x, y):
        with T.serial(i64(0), count) as i:
            value = target.load(x, i * target.lanes)
            target.store(y, i * target.lanes, function_of(name)(target, value))

    shape = (count, target.lanes)
    return build_kernel(f"test_{name}", [Parameter("x", shape), Parameter("y", shape)], body)


def as_expression(name):
    """y[i] = function(x[i]) as Relax's operators are legalized."""
    x = te.placeholder((te.var("n", "int64"),), "float32", name="x")
    function = function_of(name)
    y = te.compute(x.shape, lambda i: ScalarExpression.of(function, x[i]), name="y")
    return te.create_prim_func([x, y]).with_attr("global_symbol", f"scalar_{name}")


@pytest.fixture(scope="module")
def compiled(kernel_target):
    kernels = [elementwise(kernel_target.vectors, name) for name in FUNCTIONS]
    return kernel_target.compile([*kernels, *map(as_expression, OPERATORS)])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_is_what_the_docstring_says(name, compiled, kernel_target, call_kernel):
    truth, low, high, largest, scale = FUNCTIONS[name]
    rng = np.random.default_rng(3)
    spread = np.concatenate(
        [
            np.linspace(low, high, 1 << 17),
            rng.uniform(-10, 10, 1 << 17),
            rng.uniform(-1, 1, 1 << 15) * 1e-3,
            10 ** rng.uniform(-25, 0, 1 << 15) * rng.choice([-1, 1], 1 << 15),
            [0.0, low, high],
        ]
    ).astype(np.float32)
    x = np.resize(
        spread, (-(-spread.size // kernel_target.vectors.lanes), kernel_target.vectors.lanes)
    )
    (y,) = call_kernel(compiled[f"test_{name}"], [x], x.shape)
    exact = x.astype(np.float64)
    error = np.abs(y - truth(exact)) / scale(exact)
    assert error.max() <= largest, (error.max(), exact.flat[error.argmax()])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nan_stays_nan_and_extremes_stay_finite(name, compiled, kernel_target, call_kernel):
    x = np.zeros((1, kernel_target.vectors.lanes), np.float32)
    x[0, :3] = np.nan, 3e38, -3e38
    (y,) = call_kernel(compiled[f"test_{name}"], [x], x.shape)
    assert np.isnan(y[0, 0])
    if name in ("exp", "sigmoid", "tanh"):
        assert np.isfinite(y[0, 1:]).all()


@pytest.mark.parametrize("name", OPERATORS)
def test_vectors_and_scalar_expressions_give_the_same_bits(
    name, compiled, kernel_target, call_kernel
):
    """A layer computes the same whether a kernel or a legalized operator applies the function."""
    rng = np.random.default_rng(7)
    any_bits = rng.integers(0, 1 << 32, 1 << 15, np.uint64).astype(np.uint32).view(np.float32)
    x = np.concatenate([any_bits, rng.uniform(-20, 20, 1 << 15).astype(np.float32)])
    rows = x.reshape(-1, kernel_target.vectors.lanes)
    (vectors,) = call_kernel(compiled[f"test_{name}"], [rows], rows.shape)
    (scalars,) = call_kernel(compiled[f"scalar_{name}"], [x], x.shape)
    np.testing.assert_array_equal(vectors.ravel(), scalars)
