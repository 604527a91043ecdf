"""Layer norm against float64, with a mean for which one-pass formulas fail."""

from __future__ import annotations

import numpy as np
import pytest

from kokoro_pipeline.compiler.kernels.cpu.layer_norm import layer_norm

FEATURES = (768, 100, 21)
EPSILON = 1e-12


@pytest.fixture(scope="module")
def compiled(kernel_target):
    functions = {
        (n, residual): layer_norm(kernel_target.vectors, n, EPSILON, residual)
        for n in FEATURES
        for residual in (False, True)
    }
    library = kernel_target.compile(list(functions.values()))
    return {key: library[str(f.attrs["global_symbol"])] for key, f in functions.items()}


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("mean", (0, 100))
@pytest.mark.parametrize("residual", (False, True), ids=("tensor", "sum"))
def test_is_float64_rounded_once(features, mean, residual, compiled, call_kernel):
    """The second tensor of a sum takes most of the mean away again, which float32 would feel."""
    rng = np.random.default_rng(features)
    w, b = rng.standard_normal((2, features)).astype(np.float32)
    for rows in (1, 7, 8, 9, 50):
        x = (mean + rng.standard_normal((rows, features))).astype(np.float32)
        added = [(rng.standard_normal(x.shape) - 0.9 * mean).astype(np.float32)] * residual
        exact = sum([each.astype(np.float64) for each in added], x.astype(np.float64))
        normal = exact - exact.mean(1, keepdims=True)
        expected = normal / np.sqrt(exact.var(1, keepdims=True) + EPSILON) * w + b
        (y,) = call_kernel(compiled[features, residual], [x, *added, w, b], x.shape)
        np.testing.assert_array_max_ulp(y, expected.astype(np.float32), maxulp=1)
