"""The matrix product against float64 for one row (GEMV) to several blocks."""

from __future__ import annotations

import numpy as np
import pytest

from kokoro_pipeline.compiler.kernels.cpu.linear import linear, pack_linear

SHAPES = ((128, 512), (128, 180), (768, 64), (301, 50), (17, 3), (2048, 40))


@pytest.fixture(scope="module")
def compiled(kernel_target):
    functions = {shape: linear(kernel_target.vectors, *shape) for shape in SHAPES}
    library = kernel_target.compile(list(functions.values()))
    return {shape: library[str(f.attrs["global_symbol"])] for shape, f in functions.items()}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("with_bias", (True, False), ids=("bias", "no bias"))
def test_equals_float64(shape, with_bias, compiled, kernel_target, call_kernel):
    K, N = shape
    rng = np.random.default_rng(K)
    w = rng.standard_normal((N, K)).astype(np.float32)
    b = rng.standard_normal(N).astype(np.float32) if with_bias else None
    packed = pack_linear(kernel_target.vectors, w, b)
    for rows in (1, 2, 5, 6, 7, 12, 13, 23, 24, 25, 96, 97, 200):
        x = rng.standard_normal((rows, K)).astype(np.float32)
        expected = x.astype(np.float64) @ w.T.astype(np.float64) + (0 if b is None else b)
        (y,) = call_kernel(compiled[shape], [x, packed], (rows, N))
        assert np.abs(y - expected).max() <= 3e-6 * np.sqrt(K), rows


@pytest.mark.parametrize("rows", (1, 40))
def test_a_long_sum_rounds_little_more_than_its_result(rows, compiled, kernel_target, call_kernel):
    """Of the sum's deviation; float32 throughout gives 2.9e-7, one rounding 2.5e-8."""
    K, N = 2048, 40
    rng = np.random.default_rng(5)
    x, w = (rng.standard_normal((n, K)).astype(np.float32) for n in (rows, N))
    packed = pack_linear(kernel_target.vectors, w)
    (y,) = call_kernel(compiled[K, N], [x, packed], (rows, N))
    error = y - x.astype(np.float64) @ w.T.astype(np.float64)
    assert np.sqrt(np.mean(error**2)) <= 1e-7 * np.sqrt(K)
