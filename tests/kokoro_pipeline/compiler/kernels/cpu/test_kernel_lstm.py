"""The LSTM recurrence against torch in float64, row by row at each row's own length."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kokoro_pipeline.compiler.kernels.cpu.lstm import lstm_recurrence, pack_lstm_recurrent
from kokoro_pipeline.compiler.kernels.cpu.vector import VectorTarget
from kokoro_pipeline.errors import InputError

SIZES = (256, 32)


@pytest.fixture(scope="module")
def compiled(kernel_target):
    functions = {h: lstm_recurrence(kernel_target.vectors, h) for h in SIZES}
    library = kernel_target.compile(list(functions.values()))
    return {h: library[str(f.attrs["global_symbol"])] for h, f in functions.items()}


def networks(hidden: int, inputs: int = 24):
    """An LSTM in float64, its float32 recurrent weights [2, 4H, H], and x -> gates [n, 8H]."""
    torch.manual_seed(hidden)
    net = torch.nn.LSTM(inputs, hidden, batch_first=True, bidirectional=True).requires_grad_(False)
    recurrent = torch.stack([net.weight_hh_l0, net.weight_hh_l0_reverse]).numpy()
    net = net.double()
    w = torch.cat([net.weight_ih_l0, net.weight_ih_l0_reverse])
    b = torch.cat(
        [net.bias_ih_l0 + net.bias_hh_l0, net.bias_ih_l0_reverse + net.bias_hh_l0_reverse]
    )
    return net, recurrent, lambda x: (x.double() @ w.T + b).float().numpy()


@pytest.mark.parametrize("hidden", SIZES)
@pytest.mark.parametrize("lengths", [(1,), (2,), (37,), (5, 1, 9), (64, 64, 3, 30)], ids=str)
def test_every_row_equals_the_row_alone_in_float64(
    hidden, lengths, compiled, kernel_target, call_kernel
):
    net, recurrent, project = networks(hidden)
    steps = max(lengths) + (len(lengths) > 1)
    x = torch.randn(len(lengths), steps, 24) * 2
    gates = project(x)
    for row, length in enumerate(lengths):
        gates[row, length:] = np.nan
    packed = pack_lstm_recurrent(kernel_target.vectors, recurrent)
    counts = np.array(lengths, np.int64)
    shape = (len(lengths), steps, 2 * hidden)
    (y,) = call_kernel(compiled[hidden], [gates, packed, counts], shape)
    for row, length in enumerate(lengths):
        expected = net(x[row : row + 1, :length].double())[0][0].numpy()
        np.testing.assert_allclose(y[row, :length], expected, atol=2e-6, rtol=0)
        assert not y[row, length:].any()


def test_the_sums_of_a_step_are_not_added_to_a_large_gate(compiled, kernel_target, call_kernel):
    """Equal gates of 8 and products that cancel: a sum that starts at 8 has its digits only."""
    hidden, rng = 256, np.random.default_rng(3)
    gates = np.full((1, 2, 8 * hidden), 8.0, np.float32)
    recurrent = rng.standard_normal((2, 4 * hidden, hidden)).astype(np.float32)
    recurrent -= recurrent.mean(2, keepdims=True)
    recurrent[:, :, 0] -= np.float32(8.0) / np.float32(0.999)
    packed = pack_lstm_recurrent(kernel_target.vectors, recurrent)
    (y,) = call_kernel(compiled[hidden], [gates, packed, np.array([2])], (1, 2, 2 * hidden))

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    for direction, order in ((0, (0, 1)), (1, (1, 0))):
        h = c = np.zeros(hidden)
        for step in order:
            products = recurrent[direction].astype(np.float64) @ h
            i, f, g, o = np.split(8.0 + products, 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            got = y[0, step, direction * hidden : (direction + 1) * hidden]
            error = np.sqrt(np.mean((got - h) ** 2))
            assert error <= 2e-7, (direction, step)


def test_saturated_gates_and_an_empty_row(compiled, kernel_target, call_kernel):
    """Gates of +-1e4 must saturate, not overflow; a length of 0 gives a row of zeros."""
    hidden = 32
    rng = np.random.default_rng(4)
    gates = np.where(rng.random((2, 6, 8 * hidden)) < 0.5, -1e4, 1e4).astype(np.float32)
    packed = pack_lstm_recurrent(kernel_target.vectors, np.zeros((2, 4 * hidden, hidden)))
    lengths = np.array([6, 0], np.int64)
    (y,) = call_kernel(compiled[hidden], [gates, packed, lengths], (2, 6, 2 * hidden))
    assert np.isfinite(y).all() and np.abs(y[0]).max() <= 1
    assert not y[1].any()


def test_the_number_of_threads_cannot_show(compiled, kernel_target, call_kernel, set_threads):
    _, recurrent, project = networks(32)
    gates = project(torch.randn(3, 20, 24))
    packed = pack_lstm_recurrent(kernel_target.vectors, recurrent)
    results = []
    for threads in (1, 2):
        set_threads(threads)
        lengths = np.array([20, 7, 11], np.int64)
        results += call_kernel(compiled[32], [gates, packed, lengths], (3, 20, 64))
    np.testing.assert_array_equal(results[0], results[1])


def test_a_size_that_does_not_fit_the_vectors_is_refused():
    with pytest.raises(InputError, match="opt 0"):
        lstm_recurrence(VectorTarget(16, 32), 40)
