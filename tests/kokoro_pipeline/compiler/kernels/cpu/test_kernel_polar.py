"""Spectra from magnitudes and phases against float64."""

from __future__ import annotations

import numpy as np
import pytest

from kokoro_pipeline.compiler.kernels.cpu.polar import polar_to_complex

BINS = (11, 16, 1)


@pytest.fixture(scope="module")
def compiled(kernel_target):
    functions = {bins: polar_to_complex(kernel_target.vectors, bins) for bins in BINS}
    library = kernel_target.compile(list(functions.values()))
    return {bins: library[str(f.attrs["global_symbol"])] for bins, f in functions.items()}


@pytest.mark.parametrize("bins", BINS)
def test_equals_float64(bins, compiled, call_kernel):
    rng = np.random.default_rng(bins)
    for batch, length in ((1, 1), (2, 31), (1, 64), (1, 65), (3, 201)):
        x = rng.standard_normal((batch, length, 2 * bins)).astype(np.float32)
        x[..., bins:] *= 10
        (y,) = call_kernel(compiled[bins], [x], x.shape)
        size, phase = np.exp(x[..., :bins].astype(np.float64)), np.sin(x[..., bins:], dtype="f8")
        error = y - np.concatenate([size * np.cos(phase), size * np.sin(phase)], axis=2)
        assert np.abs(error / np.tile(size, 2)).max() <= 6e-7


def test_the_number_of_threads_cannot_show(compiled, call_kernel, set_threads):
    x = np.random.default_rng(1).standard_normal((2, 333, 22)).astype(np.float32)
    results = []
    for threads in (1, 2, 5):
        set_threads(threads)
        results.append(call_kernel(compiled[11], [x], x.shape)[0])
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
