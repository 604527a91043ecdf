"""Layer norm against float64, with a mean for which one-pass formulas fail."""

from __future__ import annotations

import numpy as np
import pytest

from kokoro_pipeline.compiler.kernels.cpu.layer_norm import layer_norm

FEATURES = (768, 100, 21)
EPSILON = 1e-12


# The number of tensors whose sum is normalized, and whether what rounding takes away is a result.
SUMS = ((1, False), (2, True), (3, False), (3, True))


@pytest.fixture(scope="module")
def compiled(kernel_target):
    functions = {
        (n, *of): layer_norm(kernel_target.vectors, n, EPSILON, *of)
        for n in FEATURES
        for of in SUMS
    }
    library = kernel_target.compile(list(functions.values()))
    return {key: library[str(f.attrs["global_symbol"])] for key, f in functions.items()}


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("mean", (0, 100))
@pytest.mark.parametrize("terms, rounding", SUMS)
def test_is_float64_rounded_once(features, mean, terms, rounding, compiled, call_kernel):
    """The second tensor of a sum takes most of the mean away again, which float32 would feel, and
    the third is as small as what rounding takes from the first."""
    rng = np.random.default_rng(features)
    w, b = rng.standard_normal((2, features)).astype(np.float32)
    for rows in (1, 7, 8, 9, 50):
        noise = rng.standard_normal((3, rows, features))
        tensors = [mean + noise[0], noise[1] - 0.9 * mean, 1e-6 * noise[2]][:terms]
        tensors = [tensor.astype(np.float32) for tensor in tensors]
        exact = sum(tensor.astype(np.float64) for tensor in tensors)
        normal = exact - exact.mean(1, keepdims=True)
        normal /= np.sqrt(exact.var(1, keepdims=True) + EPSILON)
        expected = normal * w + b
        shapes = [exact.shape] * (1 + rounding)
        y, *lost = call_kernel(compiled[features, terms, rounding], [*tensors, w, b], *shapes)
        np.testing.assert_array_max_ulp(y, expected.astype(np.float32), maxulp=1)
        for each in lost:
            whole = y.astype(np.float64) + each
            np.testing.assert_allclose(whole, expected, rtol=1e-12, atol=1e-12 * (1 + mean))
