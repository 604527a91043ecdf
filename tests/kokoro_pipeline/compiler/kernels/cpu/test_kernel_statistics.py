"""Channel statistics against float64, where one-pass formulas fail."""

from __future__ import annotations

import numpy as np
import pytest

from kokoro_pipeline.compiler.kernels.cpu.statistics import channel_statistics

CHANNELS = (128, 18, 3)
EPSILON = 1e-5


@pytest.fixture(scope="module")
def compiled(kernel_target):
    functions = {c: channel_statistics(kernel_target.vectors, c, EPSILON) for c in CHANNELS}
    library = kernel_target.compile(list(functions.values()))
    return {c: library[str(f.attrs["global_symbol"])] for c, f in functions.items()}


@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize(("mean", "deviation"), [(0, 1), (1000, 1), (-3, 1e-3), (0, 1e4)], ids=str)
def test_equals_float64(mean, deviation, channels, compiled, call_kernel):
    rng = np.random.default_rng(2)
    for length in (1, 2, 63, 64, 65, 1000):
        x = (mean + deviation * rng.standard_normal((2, length, channels))).astype(np.float32)
        exact = x.astype(np.float64)
        shape = (2, channels)
        m, r = call_kernel(compiled[channels], [x], shape, shape)
        np.testing.assert_allclose(m, exact.mean(1), rtol=2e-7, atol=1e-6 * deviation)
        np.testing.assert_allclose(r, 1 / np.sqrt(exact.var(1) + EPSILON), rtol=2e-6)


def test_an_outlier_in_one_chunk_does_not_blur_the_others(compiled, call_kernel):
    rng = np.random.default_rng(2)
    x = (1000 + rng.standard_normal((1, 700, 128))).astype(np.float32)
    x[0, 0] = -1e4
    exact = x.astype(np.float64)
    m, r = call_kernel(compiled[128], [x], (1, 128), (1, 128))
    np.testing.assert_allclose(m, exact.mean(1), rtol=2e-7)
    np.testing.assert_allclose(r, 1 / np.sqrt(exact.var(1) + EPSILON), rtol=2e-6)


def test_a_constant_channel_has_no_variance(compiled, call_kernel):
    x = np.full((1, 300, 18), 12.34, np.float32)
    m, r = call_kernel(compiled[18], [x], (1, 18), (1, 18))
    np.testing.assert_allclose(m, x[:, 0], rtol=2e-7)
    np.testing.assert_allclose(r, 1 / np.sqrt(EPSILON), rtol=1e-4)


def test_the_number_of_threads_cannot_show(compiled, call_kernel, set_threads):
    x = np.random.default_rng(1).standard_normal((2, 777, 18)).astype(np.float32)
    results = []
    for threads in (1, 2, 3):
        set_threads(threads)
        results.append(call_kernel(compiled[18], [x], (2, 18), (2, 18)))
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
