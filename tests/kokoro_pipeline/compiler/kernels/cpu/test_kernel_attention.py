"""Attention against float64, where each row only uses its valid keys."""

from __future__ import annotations

import numpy as np
import pytest

from kokoro_pipeline.compiler.kernels.cpu.attention import attention
from kokoro_pipeline.compiler.kernels.cpu.vector import VectorTarget
from kokoro_pipeline.errors import InputError

SIZES = ((12, 64), (2, 16))


@pytest.fixture(scope="module")
def compiled(kernel_target):
    functions = {size: attention(kernel_target.vectors, *size) for size in SIZES}
    library = kernel_target.compile(list(functions.values()))
    return {size: library[str(f.attrs["global_symbol"])] for size, f in functions.items()}


def reference(q, k, v, heads: int) -> np.ndarray:
    """One row, all of it: [n, heads * D] in float64."""
    q, k, v = (
        a.astype(np.float64).reshape(len(a), heads, -1).transpose(1, 0, 2) for a in (q, k, v)
    )
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    out = weights @ v / weights.sum(-1, keepdims=True)
    return out.transpose(1, 0, 2).reshape(q.shape[1], -1)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(
    "lengths", [(1,), (2,), (13,), (33,), (70,), (512,), (31, 1, 64, 5)], ids=str
)
def test_every_row_equals_the_row_alone_in_float64(size, lengths, compiled, call_kernel):
    heads, head_size = size
    rng = np.random.default_rng(sum(lengths))
    steps = max(lengths) + (3 if len(lengths) > 1 else 0)
    shape = (len(lengths), steps, heads * head_size)
    q, k, v = (rng.standard_normal(shape).astype(np.float32) for _ in range(3))
    q *= 2
    for row, length in enumerate(lengths):
        for a in (q, k, v):
            a[row, length:] = np.nan
    counts = np.array(lengths, np.int64)
    (y,) = call_kernel(compiled[size], [q, k, v, counts], shape)
    for row, n in enumerate(lengths):
        expected = reference(q[row, :n], k[row, :n], v[row, :n], heads)
        np.testing.assert_allclose(y[row, :n], expected, atol=5e-6, rtol=0)
        assert not y[row, n:].any()


def test_many_keys_round_little_more_than_few(compiled, call_kernel):
    """Equal scores over 512 keys, whose values are near 1: their mean is one rounding off."""
    shape = (1, 512, 32)
    q = np.zeros(shape, np.float32)
    v = (1 + 0.01 * np.random.default_rng(1).standard_normal(shape)).astype(np.float32)
    (y,) = call_kernel(compiled[(2, 16)], [q, q, v, np.array([512])], shape)
    expected = v[0].astype(np.float64).mean(0)
    np.testing.assert_allclose(y[0], np.broadcast_to(expected, y[0].shape), atol=1.3e-7, rtol=0)


def test_far_scores_neither_overflow_nor_vanish(compiled, call_kernel):
    """Scores of +-1e4: the largest key takes all; equal keys share."""
    shape = (1, 40, 32)
    q, k = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    q[..., ::16], k[0, :, ::16] = 200, np.linspace(-200, 200, 40)[:, None]
    v = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    (y,) = call_kernel(compiled[(2, 16)], [q, k, v, np.array([40])], shape)
    np.testing.assert_allclose(y[0], np.broadcast_to(v[0, -1], (40, 32)), atol=1e-6)
    (y,) = call_kernel(compiled[(2, 16)], [q, k * 0, v, np.array([40])], shape)
    np.testing.assert_allclose(y[0], np.broadcast_to(v[0].mean(0), (40, 32)), atol=1e-6)


def test_an_empty_row_gives_zeros(compiled, call_kernel):
    shape = (1, 4, 32)
    (y,) = call_kernel(compiled[(2, 16)], [np.ones(shape, np.float32)] * 3 + [np.array([0])], shape)
    assert not y.any()


def test_a_head_that_does_not_fit_the_vectors_is_refused():
    with pytest.raises(InputError, match="opt 0"):
        attention(VectorTarget(16, 32), 4, 24)
