"""The FFT convolution, with its producers and residual, against float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, tirx

from kokoro_pipeline.compiler.kernels.common.producer import Activation, Producer
from kokoro_pipeline.compiler.kernels.cpu.fft_conv1d import RealFFT
from kokoro_pipeline.compiler.kernels.cpu.transform import SameConv1d
from kokoro_pipeline.compiler.kernels.cpu.transform_conv1d import (
    pack_transformed,
    transformed_conv1d,
)
from kokoro_pipeline.compiler.kernels.cpu.vector import VectorTarget
from kokoro_pipeline.errors import InputError

CONVS = {
    "resblock, first": SameConv1d(128, 128, 11, Producer(True, Activation.SNAKE)),
    "resblock, second": SameConv1d(128, 128, 7, Producer(True, Activation.SNAKE), residual=True),
    "encoder": SameConv1d(128, 64, 5, Producer(True, Activation.LEAKY_RELU, 0.2), residual=True),
    "plain": SameConv1d(64, 128, 7),
    "output channels are padded": SameConv1d(128, 22, 7, residual=True),
    "many channels, many taps": SameConv1d(144, 128, 11),
}
# The window of each, and tiles of a block; 32 and 16 where none are named.
SIZES = {"resblock, first": (64, 8), "encoder": (16, 24), "plain": (32, 40)}
LENGTHS = (1, 2, 5, 25, 26, 27, 96, 601)


def fft_conv1d(target: VectorTarget, conv: SameConv1d, window: int = 32, tiles: int = 16) -> Any:
    return transformed_conv1d(target, conv, RealFFT(conv.taps, window), tiles)


def packed(name: str, conv: SameConv1d) -> Any:
    """The function that packs weights for the window of a convolution."""
    window, _ = SIZES.get(name, (32, 16))
    transform = RealFFT(conv.taps, window)
    return lambda target, *weights: pack_transformed(target, transform, *weights)


@pytest.fixture(scope="module")
def compiled(kernel_target):
    functions = {
        name: fft_conv1d(kernel_target.vectors, conv, *SIZES.get(name, ()))
        for name, conv in CONVS.items()
    }
    library = kernel_target.compile(list(functions.values()))
    return {name: library[str(f.attrs["global_symbol"])] for name, f in functions.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", CONVS)
def test_equals_float64_at_every_length_and_dilation(
    name, compiled, kernel_target, check_same_conv1d
):
    """One kernel serves all lengths, batches and dilations, those above a block's tiles too."""
    conv = CONVS[name]
    pack = packed(name, conv)
    for length in LENGTHS:
        for dilation in (1, 3, 5, 40) if length < 100 else (1, 3, 5):
            largest, rms = check_same_conv1d(
                compiled[name], conv, kernel_target, pack, length, dilation
            )
            assert largest <= 3e-6, (length, dilation)
            assert rms <= 5e-7, (length, dilation)


@pytest.mark.slow  # all kernels are compiled, as for the one above
def test_other_rows_of_the_batch_are_never_read(compiled, kernel_target, isolate_batch_rows):
    for name, conv in CONVS.items():
        isolate_batch_rows(compiled, {name: conv}, kernel_target, packed(name, conv))


@pytest.mark.slow
def test_the_number_of_threads_cannot_show(compiled, kernel_target, vary_threads):
    for name, conv in CONVS.items():
        vary_threads(compiled, {name: conv}, kernel_target, packed(name, conv))


def test_called_from_relax_with_the_dilation_as_a_number(kernel_target):
    """The way a pass uses a kernel: `call_tir` with the dilation before the output."""
    conv = SameConv1d(64, 64, 7)
    kernel = fft_conv1d(kernel_target.vectors, conv)
    rng = np.random.default_rng(3)
    weight = rng.standard_normal((64, 64, 7), np.float32)
    packed = pack_transformed(kernel_target.vectors, RealFFT(7, 32), weight)
    batch, length = tirx.Var("batch", "int64"), tirx.Var("length", "int64")
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((batch, length, 64), "float32"))
    u = relax.Var("u", relax.TensorType(packed.shape, "float32"))
    with builder.function("main", [x, u]):
        with builder.dataflow():
            callee = builder.add_func(kernel, str(kernel.attrs["global_symbol"]))
            out = relax.TensorType((batch, length, 64), "float32")
            y = builder.emit_output(relax.call_tir(callee, [x, u, relax.prim_value(3)], out))
        builder.emit_func_output(y)
    target = tvm.target.Target({"kind": "llvm", "mcpu": kernel_target.mcpu})
    machine = relax.VirtualMachine(tvm.compile(builder.get(), target=target), tvm.cpu())
    value = tvm.runtime.tensor(rng.standard_normal((2, 50, 64), np.float32))
    weights = tvm.runtime.tensor(packed)
    result = machine["main"](value, weights).numpy()
    library = kernel_target.compile([kernel])
    y_value = tvm.runtime.tensor(np.zeros((2, 50, 64), np.float32))
    library[str(kernel.attrs["global_symbol"])](value, weights, 3, y_value)
    np.testing.assert_array_equal(result, y_value.numpy())


def test_gives_the_statistics_of_what_it_writes(kernel_target, check_statistics):
    conv = SameConv1d(48, 22, 7, residual=True, statistics=1e-5)
    function = fft_conv1d(kernel_target.vectors, conv)
    (compiled,) = kernel_target.compile([function]).values()
    check_statistics(compiled, conv, kernel_target, packed("", conv))


def test_what_cannot_be_done_is_refused():
    vectors = VectorTarget(16, 32)
    with pytest.raises(InputError, match="vectors"):
        fft_conv1d(vectors, SameConv1d(22, 64, 7, Producer(True, Activation.SNAKE)))
    with pytest.raises(InputError, match="centre"):
        fft_conv1d(vectors, SameConv1d(128, 128, 4))
    with pytest.raises(InputError, match="window"):
        fft_conv1d(vectors, SameConv1d(128, 128, 65))
    with pytest.raises(InputError, match="power of two"):
        RealFFT(7, 24)
