"""The small parts: threads, aligned arrays, noise, alignment."""

from __future__ import annotations

import os

import numpy as np
import pytest

from kokoro_pipeline.errors import ArtifactError, EnvironmentFault, InputError
from kokoro_pipeline.runtime.engine.arrays import aligned_empty, is_kernel_ready, kernel_ready
from kokoro_pipeline.runtime.engine.threads import resolve_threads
from kokoro_pipeline.runtime.speech.alignment import frames_per_token, spread, token_of_frame
from kokoro_pipeline.runtime.speech.noise import check_noise, check_seed, noise_key

KEY_OF_SEED_0 = [3757552657, 2018376492]


def test_threads_default_to_the_variable_then_to_the_affinity_mask(monkeypatch):
    monkeypatch.delenv("TVM_NUM_THREADS", raising=False)
    if hasattr(os, "sched_getaffinity"):
        assert resolve_threads() == len(os.sched_getaffinity(0))
        monkeypatch.setenv("TVM_NUM_THREADS", "")
        assert resolve_threads() == len(os.sched_getaffinity(0))
    monkeypatch.setenv("TVM_NUM_THREADS", "3")
    assert resolve_threads() == 3
    assert resolve_threads(5) == 5


@pytest.mark.parametrize("value", ["0", "-1", "two", "2.0", "٣", "1025"])
def test_a_bad_variable_is_refused_by_name(value, monkeypatch):
    monkeypatch.setenv("TVM_NUM_THREADS", value)
    with pytest.raises(EnvironmentFault, match="TVM_NUM_THREADS"):
        resolve_threads()


@pytest.mark.parametrize("threads", [0, -1, 1025, 1.5, "2", True])
def test_bad_threads_are_refused(threads):
    with pytest.raises(InputError, match="threads is"):
        resolve_threads(threads)


@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (1, 600, 9)])
@pytest.mark.parametrize("dtype", ["float32", "int64", "float64"])
def test_aligned_arrays_are_aligned(shape, dtype):
    array = aligned_empty(shape, dtype)
    assert array.shape == shape
    assert array.dtype == dtype
    assert array.ctypes.data % 64 == 0
    assert is_kernel_ready(array)


def test_only_what_a_kernel_cannot_read_is_copied():
    good = aligned_empty((4, 32), np.float32)
    good[...] = np.arange(128).reshape(4, 32)
    assert kernel_ready(good) is good
    read_only = good.view()
    read_only.flags.writeable = False
    raw = np.empty(good.nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64 + 4
    misaligned = raw[start : start + good.nbytes].view(np.float32).reshape(4, 32)
    misaligned[...] = good
    for bad in (good[:, ::2], good.T, np.asfortranarray(good), misaligned, read_only):
        ready = kernel_ready(bad)
        assert is_kernel_ready(ready)
        assert not np.shares_memory(ready, bad)
        assert np.array_equal(ready, bad)


def test_keys_are_pinned_for_ever():
    """The key of a seed is part of the contract: the same on every machine, for every release."""
    key = noise_key(0, 0)
    assert (key.dtype, key.shape) == (np.int64, (2,))
    assert key.tolist() == KEY_OF_SEED_0
    keys = {tuple(noise_key(seed, chunk)) for seed in (0, 1, 2**70) for chunk in range(50)}
    assert len(keys) == 150
    assert all(0 <= word < 2**32 for key in keys for word in key)


@pytest.mark.parametrize("seed", [-1, 1.0, "1", None, True, float("nan")])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(InputError, match="seed is"):
        check_seed(seed)


@pytest.mark.parametrize("seed", [0, 2**70, np.int64(4)])
def test_whole_seeds_are_taken(seed):
    assert check_seed(seed) == int(seed)


@pytest.mark.parametrize(
    "noise",
    [
        np.zeros((1, 1800, 9)),
        np.zeros((1, 1799, 9), np.float32),
        np.zeros((1800, 9), np.float32),
        np.full((1, 1800, 9), np.nan, np.float32),
        [[[0.0] * 9] * 1800],
    ],
)
def test_other_noise_is_refused_with_the_right_shape(noise):
    with pytest.raises(InputError, match=r"expected float32 \[1, 1800, 9\]"):
        check_noise(noise, 3)


@pytest.mark.parametrize(
    ("sums", "speed", "frames"),
    [
        ([0.0, 0.4, 1.4, 1.6], 1.0, [1, 1, 1, 2]),
        ([2.5, 3.5, 4.5, 0.5], 1.0, [2, 4, 4, 1]),  # halves go to even, as torch.round's
        ([6.0, 7.0], 2.0, [3, 4]),
        ([6.0], 0.5, [12]),
    ],
)
def test_frames_per_token(sums, speed, frames):
    duration = np.zeros((1, len(sums), 50), np.float32)
    duration[0, :, 17] = sums
    got = frames_per_token(duration, speed)
    assert got.dtype == np.int64
    assert got.tolist() == frames


def test_a_duration_that_is_no_number_is_refused():
    with pytest.raises(ArtifactError, match="not finite"):
        frames_per_token(np.full((1, 2, 50), np.nan, np.float32), 1.0)


def test_spread_is_the_product_with_the_alignment_matrix():
    frames = np.array([2, 1, 3], np.int64)
    tokens = token_of_frame(frames)
    assert tokens.tolist() == [0, 0, 1, 2, 2, 2]
    features = np.arange(12, dtype=np.float32).reshape(1, 4, 3)
    matrix = np.zeros((3, 6), np.float32)
    matrix[tokens, np.arange(6)] = 1
    out = spread(features, tokens)
    assert np.array_equal(out, features @ matrix)
    assert is_kernel_ready(out)
