"""Convolutions on both devices against float64, at lengths around the tiles' edges."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from kokoro_pipeline.compiler.kernels.gpu.adain import adain
from kokoro_pipeline.compiler.kernels.gpu.conv1d import Conv1d, conv1d, pack_conv1d
from kokoro_pipeline.compiler.kernels.gpu.conv_transpose1d import (
    ConvTranspose1d,
    conv_transpose1d,
    depthwise_upsample,
    pack_conv_transpose1d,
)
from kokoro_pipeline.compiler.kernels.gpu.producer import NOTHING, Activation, Producer
from kokoro_pipeline.compiler.kernels.gpu.products import make_product
from kokoro_pipeline.errors import InputError
from tvm_gpu_emulator import EmulationFault

pytestmark = pytest.mark.slow

SNAKE = Producer(adain=True, activation=Activation.SNAKE)
LEAKY = Producer(activation=Activation.LEAKY_RELU, slope=0.1)

# name: geometry, producer, bias, residual
CONVOLUTIONS = {
    "same, dilated, fused": (Conv1d(24, 40, 7, 1, 3, 9, 9), SNAKE, True, True),
    "one row": (Conv1d(10, 1, 3, 1, 1, 1, 1), LEAKY, True, False),
    "strided": (Conv1d(22, 70, 12, 6, 1, 3, 3), NOTHING, False, False),
    "pointwise, wide": (Conv1d(9, 512, 1), Producer(adain=True), True, False),
    "deep, in slices": (Conv1d(520, 40, 3, 1, 1, 1, 1), LEAKY, True, True),
    "deep, one row": (Conv1d(140, 1, 1), NOTHING, True, False),
    "many channels": (Conv1d(140, 72, 3, 1, 1, 1, 1), SNAKE, True, False),
}
IN_LARGE_BLOCKS = {f"{name}, large blocks": name for name in ("deep, in slices", "many channels")}
"""These take small blocks for what is computed here; the others have one kind of blocks."""
LENGTHS = (1, 20, 131, 300)
TRANSPOSED = {
    "two taps, stride 10": ConvTranspose1d(12, 10, 20, 10, 5, 5),
    "two taps, stride 6": ConvTranspose1d(16, 70, 12, 6, 3, 3),
}


@pytest.fixture(scope="module")
def kernels(kind, compile_kernels, large_blocks):
    functions = {name: conv1d(*case) for name, case in CONVOLUTIONS.items()}
    with large_blocks():
        for name, of in IN_LARGE_BLOCKS.items():
            kernel = conv1d(*CONVOLUTIONS[of])
            symbol = f"{kernel.attrs['global_symbol']}_large"
            functions[name] = kernel.with_attr("global_symbol", symbol)
    functions |= {name: conv_transpose1d(conv, bias=True) for name, conv in TRANSPOSED.items()}
    functions |= {"depthwise": depthwise_upsample(5, bias=True), "adain": adain(24, SNAKE)}
    return compile_kernels(kind, functions)


def produced(rng, producer, x):
    """The coefficients of a producer, and its result for x in float64."""
    batch, channels, _ = x.shape

    def normal(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    coefficients, z = [], x.astype(np.float64)
    if producer.adain:
        mean, rstd = normal(batch, channels), np.exp(0.3 * normal(batch, channels))
        weight, bias, style = normal(channels), normal(channels), normal(batch, 2 * channels)
        coefficients = [mean, rstd, weight, bias, style]
        h = (z - mean[..., None]) * rstd[..., None] * weight[:, None] + bias[:, None]
        z = (1.0 + style[:, :channels, None]) * h + style[:, channels:, None]
    if producer.activation is Activation.SNAKE:
        alpha = rng.uniform(0.3, 3, channels).astype(np.float32)
        coefficients.append(alpha)
        z = z + np.sin(alpha[:, None] * z) ** 2 / alpha[:, None].astype(np.float64)
    if producer.activation is Activation.LEAKY_RELU:
        z = np.maximum(z, producer.slope * z)
    return coefficients, z


def convolution(rng, conv, producer, bias, residual, length):
    """The arguments of a kernel and its expected result."""

    def normal(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    x = normal(2, conv.in_channels, length)
    coefficients, z = produced(rng, producer, x)
    weight = normal(conv.out_channels, conv.in_channels, conv.taps)
    shift = normal(conv.out_channels)
    padded = np.pad(z, ((0, 0), (0, 0), (conv.pad_left, conv.pad_right)))
    expected = functional.conv1d(
        torch.from_numpy(padded),
        torch.from_numpy(weight).double(),
        torch.from_numpy(shift).double() if bias else None,
        conv.stride,
        0,
        conv.dilation,
    ).numpy()
    other = normal(*expected.shape)
    arguments = [x, *coefficients, pack_conv1d(conv, weight)]
    arguments += [shift] if bias else []
    arguments += [other] if residual else []
    return arguments, expected + (other if residual else 0)


@pytest.mark.parametrize("name", [*CONVOLUTIONS, *IN_LARGE_BLOCKS])
def test_conv1d(kernels, name):
    conv, producer, bias, residual = CONVOLUTIONS[IN_LARGE_BLOCKS.get(name, name)]
    lengths = [n for n in LENGTHS if n + conv.pad_left + conv.pad_right > conv.reach]
    for length in lengths:
        rng = np.random.default_rng(length)
        arguments, expected = convolution(rng, conv, producer, bias, residual, length)
        y = kernels(name, arguments, expected.shape)
        assert np.abs(y - expected).max() <= 1e-5 * expected.std(), length
    assert len(lengths) >= 3


def test_conv1d_in_float64(compile_kernels):
    """The source's spectrum needs it; Metal has no such type."""
    conv = Conv1d(1, 22, 20, stride=5)
    kernels = compile_kernels("cuda", {"stft": conv1d(conv, dtype="float64")})
    for length in (20, 131, 700):
        rng = np.random.default_rng(length)
        x, weight = rng.standard_normal((1, 1, length)), rng.standard_normal((22, 1, 20))
        windows = np.lib.stride_tricks.sliding_window_view(x[0, 0], 20)[::5]
        y = kernels(
            "stft",
            [x, pack_conv1d(conv, weight, "float64")],
            (1, 22, len(windows)),
            dtype="float64",
        )
        np.testing.assert_allclose(y[0], weight[:, 0] @ windows.T, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", TRANSPOSED)
def test_conv_transpose1d(kernels, name):
    conv = TRANSPOSED[name]
    for length in (1, 2, 33, 130):
        rng = np.random.default_rng(length)
        x = rng.standard_normal((2, conv.in_channels, length)).astype(np.float32)
        weight = rng.standard_normal((conv.in_channels, conv.out_channels, conv.taps))
        weight, bias = weight.astype(np.float32), rng.standard_normal(conv.out_channels)
        bias = bias.astype(np.float32)
        expected = functional.conv_transpose1d(
            *(torch.from_numpy(array).double() for array in (x, weight, bias)),
            stride=conv.stride,
            padding=conv.crop_left,
        ).numpy()
        y = kernels(name, [x, pack_conv_transpose1d(conv, weight), bias], expected.shape)
        assert np.abs(y - expected).max() <= 1e-5 * expected.std(), length


def test_depthwise_upsample(kernels):
    for length in (1, 256, 300):
        rng = np.random.default_rng(length)
        x, weight, bias = (
            rng.standard_normal(shape).astype(np.float32)
            for shape in ((2, 5, length), (5, 1, 3), (5,))
        )
        expected = functional.conv_transpose1d(
            *(torch.from_numpy(array).double() for array in (x, weight, bias)),
            stride=2,
            padding=1,
            output_padding=1,
            groups=5,
        ).numpy()
        y = kernels("depthwise", [x, weight, bias], expected.shape)
        np.testing.assert_allclose(y, expected, rtol=0, atol=5e-6)


def test_adain(kernels):
    for length in (1, 255, 300):
        rng = np.random.default_rng(length)
        x = rng.standard_normal((2, 24, length)).astype(np.float32)
        coefficients, expected = produced(rng, SNAKE, x)
        y = kernels("adain", [x, *coefficients], x.shape)
        assert np.abs(y - expected).max() <= 2e-6 * np.abs(expected).max()


KERNEL = 'extern "C" __global__'


def without_barrier(number):
    """Generated text without the barrier of this number of each kernel."""

    def edit(text):
        return KERNEL.join(map(edit_kernel, text.split(KERNEL)))

    def edit_kernel(text):
        before, *after = text.split("__syncthreads();")
        assert not after or number < len(after)
        barriers = ["" if at == number else "__syncthreads();" for at in range(len(after))]
        return before + "".join(map("".join, zip(barriers, after, strict=True)))

    return edit


@pytest.mark.parametrize(
    ("conv", "barrier"),
    [
        (Conv1d(24, 40, 7, 1, 3, 9, 9), 0),
        (Conv1d(24, 40, 7, 1, 3, 9, 9), 1),
        *((Conv1d(520, 16, 3, 1, 1, 1, 1), number) for number in range(4)),
    ],
    ids=lambda value: f"{value.in_channels} channels" if isinstance(value, Conv1d) else str(value),
)
def test_a_missing_barrier_is_noticed(compile_kernels, conv, barrier):
    """The tests above rely on the checker finding faults in these kernels."""
    rng = np.random.default_rng(0)
    arguments, expected = convolution(rng, conv, NOTHING, False, False, 40)
    broken = compile_kernels("cuda", {"conv": conv1d(conv)}, edit_source=without_barrier(barrier))
    with pytest.raises(EmulationFault):
        broken("conv", arguments, expected.shape)


@pytest.mark.parametrize("rows", [1, 22, 64, 256, 1024])
@pytest.mark.parametrize(
    ("channels", "taps", "stride", "dilation"),
    [(1, 1, 1, 1), (1090, 3, 1, 1), (256, 11, 1, 5), (22, 12, 6, 1), (514, 1, 1, 1)],
)
def test_a_tile_fits_the_smallest_device(rows, channels, taps, stride, dilation):
    """32 KiB of shared memory and 1024 threads are what Metal guarantees."""
    product = make_product(rows, channels, taps, stride, dilation)
    for tile in product.tiles:
        words = tile.slices * (tile.chunk * tile.window_pitch + tile.panel_words)
        words += (tile.slices - 1) * tile.block_rows * tile.block_columns
        assert words * 4 <= 32 << 10
        assert tile.slices * tile.warps * 32 <= 256
        assert channels <= tile.channels <= product.channels


def test_a_window_that_fits_no_device_is_refused():
    with pytest.raises(InputError, match="a block's 32768 bytes"):
        conv1d(Conv1d(1, 8, 300, dilation=100))
