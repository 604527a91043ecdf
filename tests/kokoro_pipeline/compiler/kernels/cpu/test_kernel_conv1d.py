"""Direct convolution against float64: corners of taps, stride, dilation, padding and length."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import tvm
from tvm import relax, tirx

from kokoro_pipeline.compiler.kernels.common.convolutions import Conv1d
from kokoro_pipeline.compiler.kernels.common.producer import Activation, Producer
from kokoro_pipeline.compiler.kernels.cpu.adain import adain
from kokoro_pipeline.compiler.kernels.cpu.conv1d import conv1d, pack_conv1d
from kokoro_pipeline.errors import InputError

CONVS = {
    "resblock, full panels, dilated": Conv1d(128, 128, 3, 1, 5, 5, 5),
    "window of many chunks": Conv1d(96, 64, 11, 1, 1, 5, 5),
    "dilated taps grouped in a chunk": Conv1d(40, 50, 7, 1, 3, 9, 9),
    "strided, uneven tail of channels": Conv1d(22, 100, 12, 6, 1, 3, 3),
    "no padding, reads X itself": Conv1d(22, 130, 1),
    "no padding, taps": Conv1d(33, 22, 4, 2, 2),
    "one channel each way": Conv1d(1, 1, 3, 2, 1, 1, 1),
    "one output channel, odd inputs": Conv1d(515, 1, 3, 1, 1, 2, 0),
    "three vectors a panel": Conv1d(20, 48, 3, 3, 1, 0, 2),
}
LENGTHS = (1, 2, 5, 6, 7, 11, 12, 13, 24, 25, 95, 96, 97, 198, 301)


def reference(x: np.ndarray, w: np.ndarray, b: np.ndarray | None, conv: Conv1d) -> np.ndarray:
    padded = np.pad(x.astype(np.float64), ((0, 0), (conv.pad_left, conv.pad_right), (0, 0)))
    y = torch.nn.functional.conv1d(
        torch.from_numpy(padded).transpose(1, 2),
        torch.from_numpy(w).double(),
        None if b is None else torch.from_numpy(b).double(),
        stride=conv.stride,
        dilation=conv.dilation,
    )
    return y.transpose(1, 2).numpy()


@pytest.fixture(scope="module")
def compiled(kernel_target):
    functions = {name: conv1d(kernel_target.vectors, conv) for name, conv in CONVS.items()}
    library = kernel_target.compile(list(functions.values()))
    return {name: library[str(f.attrs["global_symbol"])] for name, f in functions.items()}


@pytest.mark.parametrize("name", CONVS)
def test_equals_float64_at_every_length_and_batch(name, compiled, kernel_target, call_kernel):
    conv, rng = CONVS[name], np.random.default_rng(7)
    w = rng.standard_normal((conv.out_channels, conv.in_channels, conv.taps)).astype(np.float32)
    b = rng.standard_normal(conv.out_channels).astype(np.float32)
    packed = pack_conv1d(kernel_target.vectors, w, b)
    scale = np.sqrt(conv.in_channels * conv.taps)
    for length in LENGTHS:
        for batch in (1, 3) if length < 30 else (1,):
            if length + conv.pad_left + conv.pad_right <= conv.reach:
                continue
            x = rng.standard_normal((batch, length, conv.in_channels)).astype(np.float32)
            expected = reference(x, w, b, conv)
            assert expected.shape[1] == conv.out_length(length)
            (y,) = call_kernel(compiled[name], [x, packed], expected.shape)
            assert np.abs(y - expected).max() <= 3e-6 * scale, (length, batch)


def test_no_bias_is_a_bias_of_zero(compiled, kernel_target, call_kernel):
    name = "three vectors a panel"
    conv, rng = CONVS[name], np.random.default_rng(8)
    w = rng.standard_normal((conv.out_channels, conv.in_channels, conv.taps)).astype(np.float32)
    x = rng.standard_normal((1, 40, conv.in_channels)).astype(np.float32)
    expected = reference(x, w, None, conv)
    packed = pack_conv1d(kernel_target.vectors, w)
    (y,) = call_kernel(compiled[name], [x, packed], expected.shape)
    np.testing.assert_allclose(y, expected, atol=1e-5)


def test_padding_and_other_rows_of_the_batch_are_never_read(compiled, kernel_target, call_kernel):
    """A NaN in one batch row must not reach another, nor may padding come from a neighbour."""
    name = "resblock, full panels, dilated"
    conv, rng = CONVS[name], np.random.default_rng(9)
    w = rng.standard_normal((conv.out_channels, conv.in_channels, conv.taps)).astype(np.float32)
    packed = pack_conv1d(kernel_target.vectors, w)
    x = rng.standard_normal((3, 101, conv.in_channels)).astype(np.float32)
    (alone,) = call_kernel(compiled[name], [x[1:2], packed], (1, 101, conv.out_channels))
    x[0] = x[2] = np.nan
    (batched,) = call_kernel(compiled[name], [x, packed], (3, 101, conv.out_channels))
    np.testing.assert_array_equal(batched[1], alone[0])


FUSED = {
    "odd channels, stride": (Conv1d(35, 70, 3, 2, 1, 1, 1), Activation.LEAKY_RELU, 0.2),
    "dilated, Snake": (Conv1d(32, 40, 7, 1, 3, 9, 9), Activation.SNAKE, 0.0),
    "no padding": (Conv1d(32, 64, 1), Activation.SNAKE, 0.0),
}


@pytest.mark.parametrize("name", FUSED)
def test_fused_and_separate_kernels_give_the_same_bits(name, kernel_target, call_kernel):
    """AdaIN read in and a residual added are what the kernels between would have written."""
    conv, activation, slope = FUSED[name]
    vectors, C = kernel_target.vectors, conv.in_channels
    producer = Producer(True, activation, slope)
    functions = [
        conv1d(vectors, conv, producer, residual=True),
        conv1d(vectors, conv),
        adain(vectors, C, activation, slope),
    ]
    library = kernel_target.compile(functions)
    fused, plain, norm = (library[str(f.attrs["global_symbol"])] for f in functions)
    rng = np.random.default_rng(13)
    w = rng.standard_normal((conv.out_channels, C, conv.taps)).astype(np.float32)
    b = rng.standard_normal(conv.out_channels).astype(np.float32)
    packed = pack_conv1d(vectors, w, b)
    for length in (1, 7, 200):
        shapes = [(2, C), (2, C), (C,), (C,), (2, 2 * C), (C,)]
        numbers = [rng.uniform(0.3, 2, shape).astype(np.float32) for shape in shapes]
        coefficients = numbers if activation is Activation.SNAKE else numbers[:-1]
        x = rng.standard_normal((2, length, C)).astype(np.float32)
        shape = (2, conv.out_length(length), conv.out_channels)
        added = rng.standard_normal(shape).astype(np.float32)
        (normed,) = call_kernel(norm, [x, *coefficients], x.shape)
        (expected,) = call_kernel(plain, [normed, packed], shape)
        (y,) = call_kernel(fused, [x, *coefficients, packed, added], shape)
        np.testing.assert_array_equal(y, expected + added)


def test_a_row_has_the_same_bits_wherever_it_lies(compiled, kernel_target, call_kernel):
    """Whole, moved-back and single-row tiles sum in one order: lengths and threads can't show."""
    name = "no padding, reads X itself"
    conv, rng = CONVS[name], np.random.default_rng(10)
    w = rng.standard_normal((conv.out_channels, conv.in_channels, conv.taps)).astype(np.float32)
    packed = pack_conv1d(kernel_target.vectors, w)
    x = rng.standard_normal((1, 250, conv.in_channels)).astype(np.float32)
    (whole,) = call_kernel(compiled[name], [x, packed], (1, 250, conv.out_channels))
    for start, stop in ((0, 1), (100, 105), (40, 137), (249, 250), (3, 15)):
        part = x[:, start:stop]
        (y,) = call_kernel(compiled[name], [part, packed], (1, stop - start, conv.out_channels))
        np.testing.assert_array_equal(y, whole[:, start:stop])


def test_the_number_of_threads_cannot_show(compiled, kernel_target, call_kernel, set_threads):
    name = "window of many chunks"
    conv, rng = CONVS[name], np.random.default_rng(11)
    w = rng.standard_normal((conv.out_channels, conv.in_channels, conv.taps)).astype(np.float32)
    packed = pack_conv1d(kernel_target.vectors, w)
    x = rng.standard_normal((2, 403, conv.in_channels)).astype(np.float32)
    results = []
    for threads in (1, 2, 5):
        set_threads(threads)
        results += call_kernel(compiled[name], [x, packed], (2, 403, conv.out_channels))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_called_from_relax_with_symbolic_length(kernel_target):
    """The way a pass uses a kernel: call_tir in a function of symbolic B and L."""
    conv, rng = Conv1d(8, 24, 3, 2, 1, 1, 1), np.random.default_rng(12)
    kernel = conv1d(kernel_target.vectors, conv)
    batch, length = tirx.Var("batch", "int64"), tirx.Var("length", "int64")
    w = rng.standard_normal((24, 8, 3)).astype(np.float32)
    packed = pack_conv1d(kernel_target.vectors, w)
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((batch, length, 8), "float32"))
    p = relax.Var("p", relax.TensorType(packed.shape, "float32"))
    with builder.function("main", [x, p]):
        with builder.dataflow():
            callee = builder.add_func(kernel, str(kernel.attrs["global_symbol"]))
            out = relax.TensorType((batch, conv.out_length(length), 24), "float32")
            y = builder.emit_output(relax.call_tir(callee, [x, p], out))
        builder.emit_func_output(y)
    target = tvm.target.Target({"kind": "llvm", "mcpu": kernel_target.mcpu})
    machine = relax.VirtualMachine(tvm.compile(builder.get(), target=target), tvm.cpu())
    for shape in ((1, 1, 8), (2, 37, 8)):
        x_value = rng.standard_normal(shape).astype(np.float32)
        y_value = machine["main"](tvm.runtime.tensor(x_value), tvm.runtime.tensor(packed)).numpy()
        np.testing.assert_allclose(y_value, reference(x_value, w, None, conv), atol=1e-5)


def test_a_wrong_output_length_is_refused(compiled, kernel_target):
    name = "strided, uneven tail of channels"
    conv = CONVS[name]
    packed = pack_conv1d(kernel_target.vectors, np.zeros((100, 22, 12), np.float32))
    wrong = np.zeros((1, conv.out_length(60) + 1, 100), np.float32)
    arguments = [np.zeros((1, 60, 22), np.float32), packed, wrong]
    with pytest.raises(Exception, match="shape"):
        compiled[name](*[tvm.runtime.tensor(a) for a in arguments])


def test_equal_convolutions_have_equal_names(kernel_target):
    names = {str(conv1d(kernel_target.vectors, c).attrs["global_symbol"]) for c in CONVS.values()}
    assert len(names) == len(CONVS)
    again = conv1d(kernel_target.vectors, Conv1d(22, 130, 1))
    assert str(again.attrs["global_symbol"]) in names


def test_impossible_parameters_are_refused():
    with pytest.raises(InputError, match="padding"):
        Conv1d(4, 4, 3, pad_left=-1)
