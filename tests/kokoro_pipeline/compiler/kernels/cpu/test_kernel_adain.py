"""AdaIN and its activations against float64."""

from __future__ import annotations

import numpy as np
import pytest

from kokoro_pipeline.compiler.kernels.cpu.adain import Activation, adain
from kokoro_pipeline.compiler.kernels.cpu.vector import VectorTarget
from kokoro_pipeline.errors import InputError

KERNELS = {
    (128, Activation.SNAKE): 0.0,
    (35, Activation.LEAKY_RELU): 0.2,
    (20, Activation.NONE): 0.0,
}


@pytest.fixture(scope="module")
def compiled(kernel_target):
    functions = {key: adain(kernel_target.vectors, *key, slope) for key, slope in KERNELS.items()}
    library = kernel_target.compile(list(functions.values()))
    return {key: library[str(f.attrs["global_symbol"])] for key, f in functions.items()}


@pytest.mark.parametrize("key", KERNELS, ids=str)
@pytest.mark.parametrize("mean", (0, 1000))
def test_equals_float64(key, mean, compiled, call_kernel):
    C, activation = key
    rng = np.random.default_rng(C)
    w, b = rng.standard_normal((2, C)).astype(np.float32)
    alpha = rng.uniform(0.3, 3, C).astype(np.float32)
    for length in (1, 31, 32, 33, 100):
        x = (mean + rng.standard_normal((2, length, C))).astype(np.float32)
        m = (mean + rng.standard_normal((2, C)) * 0.1).astype(np.float32)
        r = rng.uniform(0.5, 2, (2, C)).astype(np.float32)
        style = rng.standard_normal((2, 2 * C)).astype(np.float32)
        gamma, beta = style[:, None, :C].astype(np.float64), style[:, None, C:].astype(np.float64)
        h = (x.astype(np.float64) - m[:, None]) * r[:, None] * w + b
        z = (1 + gamma) * h + beta
        extra = []
        if activation is Activation.SNAKE:
            z, extra = z + np.sin(alpha * z) ** 2 / alpha.astype(np.float64), [alpha]
        elif activation is Activation.LEAKY_RELU:
            z = np.maximum(z, np.float64(KERNELS[key]) * z)
        (y,) = call_kernel(compiled[key], [x, m, r, w, b, style, *extra], x.shape)
        np.testing.assert_allclose(y, z, atol=1e-5, rtol=0)


def test_what_cannot_be_done_is_refused():
    with pytest.raises(InputError, match="slope"):
        adain(VectorTarget(8, 16), 16, Activation.LEAKY_RELU, -0.1)
    with pytest.raises(InputError, match="Snake"):
        adain(VectorTarget(16, 32), 24, Activation.SNAKE)
