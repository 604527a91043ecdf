"""Products on tensor cores: rounded once and summed in float32; missing barriers are found."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from kokoro_pipeline.compiler.kernels.common.operand_precision import Precision, to_words
from kokoro_pipeline.compiler.kernels.gpu.conv1d import Conv1d, conv1d, pack_conv1d
from kokoro_pipeline.compiler.kernels.gpu.conv_transpose1d import (
    ConvTranspose1d,
    conv_transpose1d,
    pack_conv_transpose1d,
)
from kokoro_pipeline.compiler.kernels.gpu.producer import Activation, Producer
from kokoro_pipeline.compiler.kernels.gpu.products import product_tile
from kokoro_pipeline.compiler.kernels.gpu.tensor_core_tile import SHARED_BYTES
from kokoro_pipeline.errors import InputError
from tvm_gpu_emulator import EmulationFault

REDUCED = (Precision.TF32, Precision.BFLOAT16, Precision.FLOAT16)
LEAKY = Producer(activation=Activation.LEAKY_RELU, slope=0.5)
DILATED = Conv1d(41, 72, 7, 1, 3, 9, 9)  # an odd channel: half a word
WIDE = Conv1d(33, 520, 3, 1, 1, 1, 1)  # narrow blocks
TRANSPOSED = ConvTranspose1d(34, 20, 12, 6, 3, 3)


def rounded(values, precision):
    """The values that tensor cores use for float32 values, in float64."""
    if precision is Precision.TF32:
        # Eleven bits, ties away from zero; float64 holds every step exactly.
        exact = values.astype(np.float64)
        unit = np.exp2(np.frexp(exact)[1] - 11.0)
        return torch.from_numpy(np.copysign(np.floor(np.abs(exact) / unit + 0.5) * unit, exact))
    tensor = torch.from_numpy(values)
    return tensor.to(getattr(torch, precision.value)).double()


@pytest.fixture(scope="module", params=REDUCED, ids=lambda precision: precision.value)
def precision(request):
    return request.param


@pytest.fixture(scope="module")
def kernels(precision, compile_kernels):
    return compile_kernels(
        "cuda",
        {
            "dilated": conv1d(DILATED, LEAKY, True, True, precision=precision),
            "wide": conv1d(WIDE, precision=precision),
            "transposed": conv_transpose1d(TRANSPOSED, True, precision),
        },
    )


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("length", [1, 20, 150])
def test_conv1d(kernels, precision, length):
    rng = np.random.default_rng(length)
    x, weight = normal(rng, 2, 41, length), normal(rng, 72, 41, 7)
    bias, residual = normal(rng, 72), normal(rng, 2, 72, length)
    # Half of a value is exact: the producer rounds nothing of its own.
    read = np.where(x > 0, x, x / 2)
    expected = functional.conv1d(
        rounded(read, precision), rounded(weight, precision), padding=9, dilation=3
    ).numpy()
    expected = expected + bias[:, None] + residual
    packed = pack_conv1d(DILATED, weight, precision=precision)
    y = kernels("dilated", [x, packed, bias, residual], expected.shape)
    assert np.abs(y - expected).max() <= 1e-5 * expected.std()


def test_blocks_of_a_wide_layer(kernels, precision):
    rng = np.random.default_rng(0)
    x, weight = normal(rng, 1, 33, 70), normal(rng, 520, 33, 3)
    expected = functional.conv1d(rounded(x, precision), rounded(weight, precision), padding=1)
    y = kernels("wide", [x, pack_conv1d(WIDE, weight, precision=precision)], expected.shape)
    assert np.abs(y - expected.numpy()).max() <= 1e-5 * expected.numpy().std()


def test_conv_transpose1d(kernels, precision):
    rng = np.random.default_rng(1)
    x, weight, bias = normal(rng, 2, 34, 25), normal(rng, 34, 20, 12), normal(rng, 20)
    expected = functional.conv_transpose1d(
        rounded(x, precision), rounded(weight, precision), stride=6, padding=3
    ).numpy()
    expected = expected + bias[:, None]
    packed = pack_conv_transpose1d(TRANSPOSED, weight, precision)
    y = kernels("transposed", [x, packed, bias], expected.shape)
    assert np.abs(y - expected).max() <= 1e-5 * expected.std()


SPECIAL = (0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-40, 70000.0, -3.4e38, 65519.9)


@pytest.mark.parametrize("reduced", REDUCED, ids=lambda precision: precision.value)
def test_weights_round_as_the_device_does(reduced):
    values = np.array([*SPECIAL, *np.random.default_rng(0).standard_normal(10)], np.float32)
    words = to_words(values, reduced)
    if reduced is Precision.TF32:
        ours = words.view(np.float32)
        assert not (words & 0x1FFF)[np.isfinite(values)].any()
        ordinary = np.isfinite(values) & (np.abs(values) < 1e38) & (np.abs(values) > 1e-37)
        with np.errstate(invalid="ignore"):
            expected = rounded(values, reduced).float().numpy()
        np.testing.assert_array_equal(ours[ordinary], expected[ordinary])
        np.testing.assert_array_equal(ours[~np.isfinite(values)], values[~np.isfinite(values)])
        return
    halves = words.view(np.uint16)
    ours = torch.from_numpy(halves.view(np.int16).copy()).view(getattr(torch, reduced.value))
    expected = torch.from_numpy(values).to(getattr(torch, reduced.value))
    torch.testing.assert_close(ours, expected, rtol=0, atol=0, equal_nan=True)


def test_ties_of_tf32_go_away_from_zero():
    half_step = np.float32(2.0**-11)
    values = np.array([1 + half_step, -1 - half_step, 1 + 3 * half_step], np.float32)
    step = 2 * half_step
    words = to_words(values, Precision.TF32)
    np.testing.assert_array_equal(words.view(np.float32), [1 + step, -1 - step, 1 + 2 * step])


def test_a_missing_barrier_is_noticed(compile_kernels):
    rng = np.random.default_rng(0)
    x, weight = normal(rng, 1, 33, 70), normal(rng, 520, 33, 3)
    broken = compile_kernels(
        "cuda",
        {"wide": conv1d(WIDE, precision=Precision.TF32)},
        edit_source=lambda text: text.replace("__syncthreads();", ""),
    )
    with pytest.raises(EmulationFault):
        packed = pack_conv1d(WIDE, weight, precision=Precision.TF32)
        broken("wide", [x, packed], (1, 520, 70))


@pytest.mark.parametrize("reduced", REDUCED, ids=lambda precision: precision.value)
@pytest.mark.parametrize(
    ("rows", "channels", "taps", "dilation"),
    [(256, 256, 11, 5), (128, 128, 11, 1), (1024, 1090, 3, 1), (64, 512, 1, 1), (2560, 512, 2, 1)],
)
def test_a_tile_of_the_decoder_fits(reduced, rows, channels, taps, dilation):
    tile = product_tile(rows, channels, taps, 1, dilation, precision=reduced)
    assert tile.chunk * (tile.window_pitch + tile.panel_pitch) * 4 <= SHARED_BYTES
    assert tile.chunk * tile.chunks * reduced.per_word >= channels
    assert tile.weight_shape == tile.pack(np.zeros((rows, channels, taps), np.float32)).shape
    # The banks of a fragment's lanes: four words by eight neighbours.
    for pitch in (tile.window_pitch, tile.panel_pitch):
        assert len({(word * pitch + n) % 32 for word in range(4) for n in range(8)}) == 32


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match="--precision float32"):
        product_tile(256, 256, 21, 1, 9, precision=Precision.TF32)


def test_small_products_stay_float32():
    assert Precision.TF32.of_product(64, 32) is Precision.TF32
    assert Precision.TF32.of_product(22, 128) is Precision.FLOAT32
    assert Precision.BFLOAT16.of_product(256, 22) is Precision.FLOAT32
