"""Scheduled loops compute the same as unscheduled ones; elementary functions meet their bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import tvm
from torch.export import Dim
from torch.nn import functional
from tvm import tirx

from kokoro_pipeline.compiler.passes.schedule_loops import schedule_loops

L = Dim("L", min=1, max=1 << 16)


def operators_of_every_kind(m: Any, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Fused elementwise loops, reductions along either axis, scans, look-ups, softmax, concat."""
    y = torch.sin(x * 2) + m.column
    return (
        functional.leaky_relu(y, 0.1) * torch.sigmoid(y),
        y.sum(dim=2),
        y.mean(dim=1, keepdim=True) + x,
        torch.softmax(y, dim=1),
        torch.cumsum(x.double(), dim=2),
        torch.cat([x, y], dim=1).transpose(1, 2),
        x[:, 3],
        torch.exp(-x.abs()).amax(dim=2),
    )


@pytest.fixture(scope="module")
def scheduled_and_not(as_module, compile_program) -> tuple[Any, Any, torch.nn.Module]:
    generator = torch.Generator().manual_seed(1)
    module = as_module(operators_of_every_kind, column=torch.randn(1, 32, 1, generator=generator))
    example = [torch.zeros(1, 32, 24)]
    scheduled = compile_program(module, example, ({2: L},))
    plain = compile_program(module, example, ({2: L},), skip=["schedule"])
    return scheduled, plain, module


@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 1000])
def test_a_schedule_changes_no_result(length, scheduled_and_not):
    scheduled, plain, module = scheduled_and_not
    x = np.random.default_rng(length).standard_normal((1, 32, length), dtype=np.float32)
    with torch.no_grad():
        expected = module(torch.from_numpy(x))
    for got, unscheduled, truth in zip(scheduled(x), plain(x), expected, strict=True):
        np.testing.assert_allclose(got, unscheduled, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(got, truth.numpy(), rtol=1e-5, atol=1e-5)


def test_the_number_of_threads_cannot_show(scheduled_and_not, set_threads):
    scheduled, _, _ = scheduled_and_not
    x = np.random.default_rng(9).standard_normal((1, 32, 3001), dtype=np.float32)
    results = []
    for threads in (1, 2, 5):
        set_threads(threads)
        results.append([result.tobytes() for result in scheduled(x)])
    assert results[0] == results[1] == results[2]


def loop_kinds(program: Any) -> set[str]:
    """Of the PrimFuncs after scheduling: "parallel", "vectorized", "serial"."""
    functions = program.modules["schedule"].functions.values()
    scripts = [f.script() for f in functions if isinstance(f, tirx.PrimFunc)]
    known = {"parallel": "T.parallel(", "vectorized": "T.vectorized(", "serial": "range("}
    return {kind for kind, words in known.items() if any(words in text for text in scripts)}


def test_elementwise_loops_are_parallel_and_vectors(scheduled_and_not):
    scheduled, plain, _ = scheduled_and_not
    assert loop_kinds(scheduled) >= {"parallel", "vectorized"}
    # TVM's own scan is parallel already.
    assert "vectorized" not in loop_kinds(plain)


def test_what_is_scheduled_already_is_left_alone(scheduled_and_not):
    """The kernels come with their own schedule; a second run changes nothing."""
    once = scheduled_and_not[0].modules["schedule"]
    tvm.ir.assert_structural_equal(schedule_loops(once, 16), once)


@pytest.mark.parametrize(("size", "parallel"), [(16, False), (1 << 14, True)])
def test_small_loops_start_no_threads(size, parallel, as_module, compile_program):
    program = compile_program(as_module(lambda m, x: torch.sin(x) * x), [torch.zeros(1, 1, size)])
    assert ("parallel" in loop_kinds(program)) == parallel


# Elementary functions

FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "sin": (torch.sin, np.sin),
    "exp": (torch.exp, np.exp),
    "sigmoid": (torch.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    "tanh": (torch.tanh, np.tanh),
    "gelu": (
        lambda x: functional.gelu(x, approximate="tanh"),
        lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    ),
}


@pytest.fixture(scope="module", params=["float32", "float64"])
def elementary(request, as_module, compile_program) -> Callable[[np.ndarray], dict[str, Any]]:
    """All of them of an array, by name; TVM's own in float64."""
    module = as_module(lambda m, x: tuple(function(x) for function, _ in FUNCTIONS.values()))
    example = [torch.zeros(64, dtype=getattr(torch, request.param))]
    program = compile_program(module, example, ({0: Dim("N", min=1, max=1 << 20)},))

    def compute(x: np.ndarray) -> dict[str, Any]:
        return dict(zip(FUNCTIONS, program(x.astype(request.param)), strict=True))

    compute.dtype = request.param
    return compute


# Largest argument, then the error allowed: absolute, or relative to max(1, |x|), or to the value.
RANGES = {
    "sin": (1e4, "absolute", 1.5e-7),
    "exp": (87.0, "relative", 1.2e-7),
    "sigmoid": (1e4, "absolute", 1.2e-7),
    "tanh": (1e4, "relative", 2.5e-7),
    "gelu": (1e3, "argument", 3e-7),
}


@pytest.mark.parametrize("name", RANGES)
def test_errors_against_float64(name, elementary):
    largest, kind, limit = RANGES[name]
    rng = np.random.default_rng(3)
    magnitudes = 10 ** rng.uniform(-8, np.log10(largest), 200_000)
    x = np.concatenate(
        [magnitudes * rng.choice([-1, 1], 200_000), np.linspace(-12, 12, 100_001), [0.0, -0.0]]
    ).astype(np.float32)
    computed = elementary(x)
    exact = FUNCTIONS[name][1](x.astype(np.float64))
    error = np.abs(computed[name].astype(np.float64) - exact)
    scale = {
        "absolute": 1.0,
        "relative": np.maximum(1e-300, np.abs(exact)),
        "argument": np.maximum(1, np.abs(x)),
    }[kind]
    assert computed[name].dtype == elementary.dtype
    allowed = limit if elementary.dtype == "float32" else 5e-16
    assert (error / scale).max() <= allowed


def test_what_is_no_number_stays_none(elementary):
    """NaN stays NaN; infinities give the limits; denormals are as good as 0."""
    x = np.array([np.nan, np.inf, -np.inf, 1e-45, -1e-40, 0.0], np.float32)
    computed = elementary(x)
    for name, values in computed.items():
        assert np.isnan(values[0]), name
        near_zero = FUNCTIONS[name][1](np.zeros(3))
        np.testing.assert_allclose(values[3:], near_zero, atol=1e-6, err_msg=name)
    assert np.isnan(computed["sin"][1:3]).all()
    assert computed["exp"][1] >= 1e38
    assert computed["exp"][2] <= 2e-38
    np.testing.assert_allclose(computed["sigmoid"][1:3], [1, 0], atol=1e-37)
    np.testing.assert_allclose(computed["tanh"][1:3], [1, -1])


def test_float64_is_not_rounded_to_float32(elementary):
    x = np.array([0.1234567890123456])
    if elementary.dtype == "float64":
        for name, value in elementary(x).items():
            np.testing.assert_allclose(value, FUNCTIONS[name][1](x), rtol=1e-15)
