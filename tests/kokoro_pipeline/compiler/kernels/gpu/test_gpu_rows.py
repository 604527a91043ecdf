"""Reductions, linear layers, recurrences and attention on both devices against float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kokoro_pipeline.compiler.kernels.gpu.attention import attention
from kokoro_pipeline.compiler.kernels.gpu.layer_norm import layer_norm
from kokoro_pipeline.compiler.kernels.gpu.linear import linear, pack_linear
from kokoro_pipeline.compiler.kernels.gpu.lstm import (
    lstm_recurrence,
    lstm_splits,
    pack_lstm_recurrent,
)
from kokoro_pipeline.compiler.kernels.gpu.normals import standard_normals
from kokoro_pipeline.compiler.kernels.gpu.scan import running_sum
from kokoro_pipeline.compiler.kernels.gpu.spread_lstm import spread_lstm_recurrence, spread_units
from kokoro_pipeline.compiler.kernels.gpu.statistics import row_statistics
from kokoro_pipeline.compiler.model.operators import lstm_recurrence as torch_lstm
from kokoro_pipeline.compiler.model.operators import masked_attention
from kokoro_pipeline.errors import InputError
from kokoro_pipeline.normals import standard_normals as exact_normals
from kokoro_pipeline.runtime.engine.device import MIN_MULTIPROCESSORS
from tvm_gpu_emulator import EmulationFault

LINEAR = {
    "narrow": (128, 50, True),
    "ragged": (40, 130, False),
    "single": (1, 1, True),
    "wide": (70, 2050, True),
}
HIDDEN = 16


@pytest.fixture(scope="module")
def kernels(kind, compile_kernels):
    functions = {name: linear(*geometry) for name, geometry in LINEAR.items()}
    functions |= {
        "statistics": row_statistics(5, 1e-5, 256),
        "layer_norm": layer_norm(200, 1e-12),
        "layer_norm of a sum": layer_norm(200, 1e-12, True),
        "running_sum": running_sum(3),
        "normals": standard_normals((60, 9)),
        "lstm by 1": lstm_recurrence(HIDDEN, 1),
        "lstm by 2": lstm_recurrence(HIDDEN, 2),
        "attention": attention(2, 64),
    }
    return compile_kernels(kind, functions)


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def test_normals_are_those_of_their_definition(kernels):
    for frames, key in ((1, [0, 0]), (3, [0xFFFFFFFF, 1 << 31]), (8, [7, 9])):
        words, shape = np.array(key, np.int64), (1, 60 * frames, 9)
        values = kernels("normals", [np.zeros(frames, np.int64), words], shape)
        expected = exact_normals(words, 0, values.size).reshape(shape)
        np.testing.assert_allclose(values, expected, rtol=0, atol=2e-6)


@pytest.mark.slow
def test_statistics_lose_nothing_to_a_large_mean(kernels):
    for length in (1, 3, 255, 257, 1000):
        x = normal(np.random.default_rng(length), 2, 5, length) + np.float32(1000)
        mean, rstd = kernels("statistics", [x], (2, 5), (2, 5))
        exact = x.astype(np.float64)
        # Half a unit in the last place of a number near 1000.
        np.testing.assert_allclose(mean, exact.mean(2), rtol=0, atol=3.1e-5)
        np.testing.assert_allclose(rstd, (exact.var(2) + 1e-5) ** -0.5, rtol=5e-7)


@pytest.mark.parametrize("name", ("layer_norm", "layer_norm of a sum"))
def test_layer_norm(kernels, name):
    for rows in (1, 7):
        rng = np.random.default_rng(rows)
        tensors = [normal(rng, rows, 200) + 10 for _ in range(1 + ("sum" in name))]
        weight, bias = normal(rng, 200), normal(rng, 200)
        expected = torch.nn.functional.layer_norm(
            torch.from_numpy(sum(tensors)).double(),
            (200,),
            torch.from_numpy(weight).double(),
            torch.from_numpy(bias).double(),
            1e-12,
        )
        y = kernels(name, [*tensors, weight, bias], (rows, 200))
        np.testing.assert_allclose(y, expected.numpy(), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", LINEAR)
def test_linear(kernels, name):
    inputs, outputs, biased = LINEAR[name]
    # The last of the wide layer are computed by large blocks.
    for rows in (1, 32, 45, *([125] if name == "wide" else [])):
        rng = np.random.default_rng(rows)
        x, weight, bias = (
            normal(rng, rows, inputs),
            normal(rng, outputs, inputs),
            normal(rng, outputs),
        )
        expected = x.astype(np.float64) @ weight.T.astype(np.float64) + (bias if biased else 0)
        arguments = [x, pack_linear(weight), *([bias] if biased else [])]
        y = kernels(name, arguments, (rows, outputs))
        np.testing.assert_allclose(y, expected, rtol=0, atol=2e-5)


# Four barriers belong to the kernel for few rows, and four to the one for many rows and outputs.
@pytest.mark.parametrize(
    ("barrier", "rows", "outputs"),
    [
        *((barrier, 5, 514) for barrier in range(4)),
        *(pytest.param(barrier, 128, 2050, marks=pytest.mark.slow) for barrier in range(4, 8)),
    ],
)
def test_a_missing_barrier_of_a_linear_layer_is_noticed(compile_kernels, barrier, rows, outputs):
    def edit(text):
        before, *after = text.split("__syncthreads();")
        barriers = ["" if at == barrier else "__syncthreads();" for at in range(len(after))]
        assert len(after) == 8
        return before + "".join(map("".join, zip(barriers, after, strict=True)))

    broken = compile_kernels("cuda", {"linear": linear(260, outputs)}, edit_source=edit)
    rng = np.random.default_rng(0)
    weight = pack_linear(normal(rng, outputs, 260))
    with pytest.raises(EmulationFault):
        broken("linear", [normal(rng, rows, 260), weight], (rows, outputs))


def test_running_sum(kernels):
    """One element, fewer than the threads, one more than a multiple of them."""
    for count in (1, 2, 100, 257, 1025):
        x = normal(np.random.default_rng(count), 2, count, 3)
        y = kernels("running_sum", [x], x.shape)
        expected = np.cumsum(x.astype(np.float64), axis=1)
        np.testing.assert_allclose(y, expected, rtol=0, atol=1e-4)


def test_running_sum_in_float64(compile_kernels):
    kernels = compile_kernels("cuda", {"running_sum": running_sum(9, "float64")})
    x = np.random.default_rng(0).standard_normal((1, 700, 9))
    y = kernels("running_sum", [x], x.shape, dtype="float64")
    np.testing.assert_allclose(y, np.cumsum(x, axis=1), rtol=0, atol=1e-12)


def lstm_case(hidden, lengths):
    """Arguments of the kernel, with NaN as padding, and the output in float64."""
    batch, steps = len(lengths), max(lengths)
    rng = np.random.default_rng(steps)
    gates = 2 * normal(rng, batch, steps, 8 * hidden)
    recurrent = normal(rng, 2, 4 * hidden, hidden) * np.float32(2 / hidden**0.5)
    count = np.array(lengths, np.int64)
    expected = torch_lstm(
        torch.from_numpy(gates).double(), torch.from_numpy(recurrent).double(), torch.tensor(count)
    )
    for row, length in enumerate(lengths):
        gates[row, length:] = np.nan
    return [gates, pack_lstm_recurrent(recurrent), count], expected.numpy()


@pytest.mark.parametrize("name", ["lstm by 1", "lstm by 2"])
@pytest.mark.parametrize("lengths", [[1], [5, 3], [1, 9, 4]])
def test_lstm(kernels, name, lengths):
    """Both directions start at a row's own ends, and padding, NaN here, reaches nothing."""
    arguments, expected = lstm_case(HIDDEN, lengths)
    y = kernels(name, arguments, expected.shape)
    np.testing.assert_allclose(y, expected, rtol=0, atol=2e-6)


SPREAD = (16, 32, 96, 256)  # units of one block, of one, of three and of eight


@pytest.fixture(scope="module")
def spread(compile_kernels):
    return compile_kernels("cuda", {str(h): spread_lstm_recurrence(h) for h in SPREAD})


@pytest.mark.parametrize("hidden", SPREAD)
@pytest.mark.parametrize("lengths", [[1], [5, 3], [0, 4]])
def test_an_lstm_over_several_blocks(spread, hidden, lengths):
    arguments, expected = lstm_case(hidden, lengths)
    y = spread(str(hidden), arguments, expected.shape)
    np.testing.assert_allclose(y, expected, rtol=0, atol=4e-6)


def test_a_gpu_that_is_accepted_runs_all_blocks_that_wait_for_each_other():
    """The model's LSTMs have 256 hidden units a direction; a block takes a multiprocessor."""
    units = spread_units(256)
    assert units is not None and 256 // units <= MIN_MULTIPROCESSORS


def test_a_nan_passes_from_block_to_block(spread):
    """It is not taken for a word that nobody has written."""
    arguments, expected = lstm_case(256, [4])
    arguments[0].view(np.uint32)[0, 1, 5] = 0xFFFFFFFF
    y = spread("256", arguments, expected.shape)
    assert not np.isnan(y[0, 0, :256]).any()
    assert np.isnan(y[0, 1, 5]) and np.isfinite(np.delete(y[0, 1, :256], 5)).all()
    assert np.isnan(y[0, 2:, :256]).all()
    np.testing.assert_allclose(y[0, :, 256:], expected[0, :, 256:], rtol=0, atol=4e-6)


@pytest.mark.parametrize("lengths", [[1], [9, 3], [33, 70]])
def test_attention(kernels, lengths):
    """Keys and queries of padding, NaN here, are never read; the result there is 0."""
    batch, steps = len(lengths), max(lengths)
    rng = np.random.default_rng(steps)
    q, k, v = 3 * normal(rng, batch, steps, 128), *(normal(rng, 2, batch, steps, 128))
    count = np.array(lengths, np.int64)
    expected = masked_attention(
        *(torch.from_numpy(x).double() for x in (q, k, v)), torch.tensor(count), 2
    ).numpy()
    for row, length in enumerate(lengths):
        expected[row, length:] = 0
        for x in (q, k, v):
            x[row, length:] = np.nan
    y = kernels("attention", [q, k, v, count], expected.shape)
    np.testing.assert_allclose(y, expected, rtol=0, atol=5e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lstm_recurrence(2048), "at most 1024"),
        (lambda: lstm_recurrence(1024, 2), "at most 1024"),
        (lambda: lstm_recurrence(7, 2), "must divide"),
        (lambda: spread_lstm_recurrence(520), "520 hidden units cannot be spread"),
        (lambda: attention(4, 20), "multiple of 32"),
    ],
)
def test_what_fits_no_block_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("hidden", "threads", "splits"), [(256, 1024, 2), (256, 256, 1), (7, 1024, 1), (512, 1024, 2)]
)
def test_an_lstm_takes_the_threads_that_a_block_has(hidden, threads, splits):
    assert lstm_splits(hidden, threads) == splits


@pytest.mark.parametrize(
    ("hidden", "units"),
    [(256, 32), (512, 16), (128, 64), (96, 48), (272, 17), (1024, None), (40, None), (8, None)],
)
def test_an_lstm_is_spread_where_its_weights_fit_registers(hidden, units):
    assert spread_units(hidden) == units
    assert spread_units(hidden, 256) is None
