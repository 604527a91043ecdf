"""Layer norm against float64, with a mean for which one-pass formulas fail."""

from __future__ import annotations

import numpy as np
import pytest

from kokoro_pipeline.compiler.kernels.cpu.layer_norm import layer_norm

FEATURES = (768, 100, 21)
EPSILON = 1e-12


@pytest.fixture(scope="module")
def compiled(kernel_target):
    functions = {n: layer_norm(kernel_target.vectors, n, EPSILON) for n in FEATURES}
    library = kernel_target.compile(list(functions.values()))
    return {n: library[str(f.attrs["global_symbol"])] for n, f in functions.items()}


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("mean", (0, 100))
def test_equals_float64(features, mean, compiled, call_kernel):
    rng = np.random.default_rng(features)
    w, b = rng.standard_normal((2, features)).astype(np.float32)
    for rows in (1, 7, 8, 9, 50):
        x = (mean + rng.standard_normal((rows, features))).astype(np.float32)
        exact = x.astype(np.float64)
        normal = exact - exact.mean(1, keepdims=True)
        expected = normal / np.sqrt(exact.var(1, keepdims=True) + EPSILON) * w + b
        (y,) = call_kernel(compiled[features], [x, w, b], x.shape)
        np.testing.assert_allclose(y, expected, atol=3e-6, rtol=0)
