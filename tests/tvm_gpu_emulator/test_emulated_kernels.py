"""Correct kernels compute correct results on both targets, without reports of the checker."""

from __future__ import annotations

import numpy as np
import pytest

rng = np.random.default_rng(0)


def normal(*shape):
    return rng.standard_normal(shape).astype("float32")


def empty(*shape):
    return np.full(shape, np.nan, "float32")


@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
def test_elementwise_with_tails_of_a_symbolic_length(run, samples, n):
    executable = run(samples.scale)
    x, y = normal(n), empty(n)
    executable["scale"](x, y, 2.5)
    np.testing.assert_allclose(y, 2.5 * x.astype("float64") + 1, rtol=1e-6, atol=1e-6)
    launch = executable.launches["scale_kernel"]
    assert (launch.count, launch.grid, launch.block) == (1, ((n + 63) // 64, 1, 1), (64, 1, 1))
    assert launch.shared_bytes == 0
    assert executable.reports == []


@pytest.mark.parametrize("check", [False, True])
def test_elementary_functions(run, samples, check):
    x, y = normal(100), empty(100)
    run(samples.functions, check=check)["functions"](x, y)
    d = x.astype("float64")
    expected = np.exp(d) + np.sin(d) + np.tanh(d) + np.sqrt(abs(d)) + np.floor(d)
    expected += abs(d) ** 1.5 + np.clip(d, -0.5, 0.5)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


def test_float16_in_vectors(run, samples):
    x, y = normal(1024).astype("float16"), np.zeros(1024, "float16")
    run(samples.halves)["halves"](x, y)
    np.testing.assert_array_equal(y, x * np.float16(2) + np.float16(0.5))


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("m,n,k", [(16, 16, 16), (1, 1, 1), (17, 33, 5), (40, 15, 50)])
def test_matmul_in_shared_memory(run, samples, check, m, n, k):
    executable = run(samples.matmul, check=check)
    a, b, c = normal(m, k), normal(k, n), empty(m, n)
    executable["matmul"](a, b, c)
    np.testing.assert_allclose(c, a.astype("float64") @ b, atol=2e-5)
    assert executable.launches["matmul_kernel"].shared_bytes == 2 * 16 * 16 * 4


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("n", [1, 127, 300])
def test_reduction_over_barriers(run, samples, check, n):
    x, y = normal(5, n), empty(5)
    run(samples.row_sum, check=check)["row_sum"](x, y)
    np.testing.assert_allclose(y, x.astype("float64").sum(1), atol=1e-4)


@pytest.mark.parametrize("check", [False, True])
def test_reduction_over_warp_shuffles(run, samples, check):
    executable = run(samples.shuffled_sum, check=check)
    assert "shfl_down_sync" in executable.source or "simd_shuffle_down" in executable.source
    x, y = normal(7, 128), empty(7)
    executable["shuffled_sum"](x, y)
    np.testing.assert_allclose(y, x.astype("float64").sum(1), atol=1e-4)


def test_a_workspace_that_the_host_allocates(run, samples):
    executable = run(samples.two_steps)
    x, y = normal(100), empty(100)
    executable["two_steps"](x, y)
    np.testing.assert_allclose(y, 2 * x + 2 * x[::-1], rtol=1e-6, atol=1e-6)
    assert len(executable.launches) == 2


@pytest.mark.parametrize("kind", ["cuda"], indirect=True)
def test_dynamic_shared_memory(run, samples):
    executable = run(samples.mirror_in_shared)
    x, y = normal(3, 64), empty(3, 64)
    executable["mirror_in_shared"](x, y)
    expected = x[:, ::-1] + x[:, ::-1].astype("float16").astype("float32")
    np.testing.assert_allclose(y, expected, rtol=1e-6)
    assert executable.launches["mirror_in_shared_kernel"].shared_bytes == 64 * 4 + 64 * 2


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("with_operators", [False, True])
def test_a_relax_function_end_to_end(run, samples, check, with_operators):
    module = samples.network(with_operators)
    # Operators need TVM's pipeline for the target; kernels alone need none.
    options = {"relax_pipeline": "default"} if with_operators else {}
    executable = run(module, check=check, **options)
    w, v = normal(24, 40), normal(40, 24)
    for n in (1, 33, 100):
        x = normal(n, 24)
        y = executable["main"](x, w, v).numpy()
        h = x.astype("float64") @ w
        expected = np.exp(h - h.max(1, keepdims=True))
        expected = expected / expected.sum(1, keepdims=True) if with_operators else h @ v
        np.testing.assert_allclose(y, expected, atol=1e-4)
    assert sum(launch.count for launch in executable.launches.values()) == 6


def test_the_order_of_threads_changes_no_result(run, samples):
    x = normal(7, 128)
    results = []
    for seed in (0, 1, 2):
        y = empty(7)
        run(samples.shuffled_sum, check=False, seed=seed)["shuffled_sum"](x, y)
        results.append(y)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_tvm_tensors_are_written_in_place(run, samples):
    import tvm

    x = normal(70)
    y = tvm.runtime.tensor(empty(70))
    run(samples.scale)["scale"](tvm.runtime.tensor(x), y, 2.0)
    np.testing.assert_allclose(y.numpy(), 2 * x + 1, rtol=1e-6, atol=1e-6)
