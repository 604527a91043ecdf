"""Products on tensor cores: rounded once, or split, and summed in float32.

The emulator cuts sums toward zero, as tensor cores do; missing barriers are found.
"""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
import torch
from torch.nn import functional

from kokoro_pipeline.compiler.codegen.cuda_compiler import find_cuda_compiler
from kokoro_pipeline.compiler.kernels.common.bfloat16_parts import split_words, to_float32
from kokoro_pipeline.compiler.kernels.common.operand_precision import (
    Precision,
    to_parts,
    to_words,
)
from kokoro_pipeline.compiler.kernels.gpu.conv1d import Conv1d, conv1d, pack_conv1d
from kokoro_pipeline.compiler.kernels.gpu.conv_transpose1d import (
    ConvTranspose1d,
    conv_transpose1d,
    pack_conv_transpose1d,
)
from kokoro_pipeline.compiler.kernels.gpu.producer import Activation, Producer
from kokoro_pipeline.compiler.kernels.gpu.products import make_product
from kokoro_pipeline.compiler.kernels.gpu.threads import CUDA_SHARED_BYTES
from kokoro_pipeline.errors import EnvironmentFault, InputError
from tvm_gpu_emulator import EmulationFault

pytestmark = pytest.mark.slow

ROUNDED = (Precision.TF32, Precision.BFLOAT16, Precision.FLOAT16)
REDUCED = (*ROUNDED, Precision.BFLOAT16X3)
IN_PARTS = {"precision": Precision.BFLOAT16X3}
LEAKY = Producer(activation=Activation.LEAKY_RELU, slope=0.5)
DILATED = Conv1d(41, 72, 7, 1, 3, 9, 9)  # an odd channel: half a word
WIDE = Conv1d(33, 520, 3, 1, 1, 1, 1)  # narrow blocks
DEEP = Conv1d(530, 70, 5, 1, 1, 2, 2)  # slices, also of stages where there are parts
TRANSPOSED = ConvTranspose1d(34, 20, 12, 6, 3, 3)


def rounded(values, precision):
    """The values that tensor cores use for float32 values, in float64."""
    if precision is Precision.BFLOAT16X3:
        return torch.from_numpy(values).double()
    if precision is Precision.TF32:
        # Eleven bits, ties away from zero; float64 holds every step exactly.
        exact = values.astype(np.float64)
        unit = np.exp2(np.frexp(exact)[1] - 11.0)
        return torch.from_numpy(np.copysign(np.floor(np.abs(exact) / unit + 0.5) * unit, exact))
    tensor = torch.from_numpy(values)
    return tensor.to(getattr(torch, precision.value)).double()


LARGE_TILES = (Precision.TF32, Precision.BFLOAT16X3)


@pytest.fixture(
    scope="module",
    params=[*((each, False) for each in REDUCED), *((each, True) for each in LARGE_TILES)],
    ids=lambda param: param[0].value + ", large blocks" * param[1],
)
def tiles(request):
    """A precision, and whether large blocks are taken."""
    return request.param


@pytest.fixture(scope="module")
def precision(tiles):
    return tiles[0]


@pytest.fixture(scope="module")
def kernels(tiles, compile_kernels, large_blocks):
    precision, large = tiles
    with large_blocks() if large else contextlib.nullcontext():
        convs = {
            "dilated": conv1d(DILATED, LEAKY, True, True, precision=precision),
            "wide": conv1d(WIDE, precision=precision),
            "deep": conv1d(DEEP, bias=True, precision=precision),
            "transposed": conv_transpose1d(TRANSPOSED, True, precision),
        }
    return compile_kernels("cuda", convs)


def assert_close(y, expected, precision):
    """The error over the result's deviation; that of two bfloat16 parts is 4.4e-6 rms."""
    error = (y - expected) / expected.std()
    if precision is Precision.BFLOAT16X3:
        assert np.abs(error).max() <= 3e-5
        assert np.sqrt((error**2).mean()) <= 6e-6
    else:
        assert np.abs(error).max() <= 1e-5


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
    assert_close(y, expected, precision)


def test_blocks_of_a_wide_layer(kernels, precision):
    rng = np.random.default_rng(0)
    x, weight = normal(rng, 1, 33, 70), normal(rng, 520, 33, 3)
    expected = functional.conv1d(rounded(x, precision), rounded(weight, precision), padding=1)
    y = kernels("wide", [x, pack_conv1d(WIDE, weight, precision=precision)], expected.shape)
    assert_close(y, expected.numpy(), precision)


@pytest.mark.parametrize("length", [1, 33])
def test_slices_of_a_deep_layer(kernels, precision, length):
    rng = np.random.default_rng(length)
    x, weight, bias = normal(rng, 2, 530, length), normal(rng, 70, 530, 5), normal(rng, 70)
    expected = functional.conv1d(rounded(x, precision), rounded(weight, precision), padding=2)
    expected = expected.numpy() + bias[:, None]
    packed = pack_conv1d(DEEP, weight, precision=precision)
    y = kernels("deep", [x, packed, bias], expected.shape)
    assert_close(y, expected, precision)


def test_conv_transpose1d(kernels, precision):
    rng = np.random.default_rng(1)
    x, weight, bias = normal(rng, 2, 34, 25), normal(rng, 34, 20, 12), normal(rng, 20)
    expected = functional.conv_transpose1d(
        rounded(x, precision), rounded(weight, precision), stride=6, padding=3
    ).numpy()
    expected = expected + bias[:, None]
    packed = pack_conv_transpose1d(TRANSPOSED, weight, precision)
    y = kernels("transposed", [x, packed, bias], expected.shape)
    assert_close(y, expected, precision)


SPECIAL = (0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-40, 70000.0, -3.4e38, 65519.9)


def test_infinity_and_nan_are_those_of_float32(compile_kernels):
    """Also with weights that are bfloat16 numbers, or whose parts have opposite signs."""
    precision, rng = Precision.BFLOAT16X3, np.random.default_rng(12)
    run = compile_kernels("cuda", {"wide": conv1d(WIDE, precision=precision)})
    weight, x = normal(rng, 520, 33, 3), normal(rng, 1, 33, 70)
    weight[::3] = np.sign(weight[::3]) * 1.5
    weight[1::3] = np.sign(weight[1::3]) * 0.99609375
    for time, channel, value in ((5, 0, np.inf), (20, 1, -np.inf), (40, 32, np.nan)):
        x[0, channel, time] = value
    x[0, :, 60] = np.inf  # inf - inf is NaN in float32 too
    x[0, 3, 30] = np.finfo(np.float32).max  # its nearest bfloat16 is infinite
    weight[:, 3] /= 1024
    with np.errstate(invalid="ignore"):
        expected = functional.conv1d(
            torch.from_numpy(x).double(), torch.from_numpy(weight).double(), padding=1
        ).numpy()
    finite = np.isfinite(expected)
    assert np.isinf(expected).any() and np.isnan(expected).any() and finite[..., 29:32].all()
    y = run("wide", [x, pack_conv1d(WIDE, weight, precision=precision)], expected.shape)
    np.testing.assert_array_equal(y[~finite], expected[~finite])
    error = np.abs(y[finite] - expected[finite])
    assert (error <= 1e-4 * np.maximum(np.abs(expected[finite]), 20)).all()


def test_long_sums_do_not_drift(compile_kernels):
    """Sums that tensor cores cut 1,300 times would lose 3e-5; those of a panel are added apart."""
    conv, precision = Conv1d(256, 64, 11, 1, 1, 5, 5), Precision.BFLOAT16X3
    run = compile_kernels("cuda", {"long": conv1d(conv, precision=precision)}, check=False)
    rng = np.random.default_rng(0)
    x, weight = (rng.uniform(0.5, 1.5, s).astype("float32") for s in ((1, 256, 20), (64, 256, 11)))
    expected = functional.conv1d(
        torch.from_numpy(x).double(), torch.from_numpy(weight).double(), padding=5
    ).numpy()
    y = run("long", [x, pack_conv1d(conv, weight, precision=precision)], expected.shape)
    assert np.abs(y / expected - 1).max() <= 2e-6


def test_parts_of_weights_lie_in_words_of_their_own():
    rng = np.random.default_rng(0)
    words = to_parts(normal(rng, 6, 5), Precision.BFLOAT16X3)
    assert (words.dtype, words.shape) == (np.uint32, (2, 3, 5))
    values = normal(np.random.default_rng(0), 6, 5)
    halves = words.view(np.uint16).reshape(2, 3, 5, 2).transpose(0, 1, 3, 2).reshape(2, 6, 5)
    np.testing.assert_array_equal(halves, split_words(values, 2))
    assert np.abs(to_float32(halves).sum(0) / values - 1).max() <= 2.0**-17


@pytest.mark.parametrize("reduced", ROUNDED, ids=lambda precision: precision.value)
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


KERNEL = 'extern "C" __global__'


@pytest.mark.parametrize("count", [-1, 1], ids=["all", "the first"])
@pytest.mark.parametrize(
    ("conv", "reduced"),
    [
        (WIDE, Precision.TF32),
        (WIDE, Precision.BFLOAT16X3),
        (DILATED, Precision.BFLOAT16X3),
        (DEEP, Precision.BFLOAT16X3),
    ],
    ids=["tf32", "parts", "stages", "slices"],
)
def test_a_missing_barrier_is_noticed(compile_kernels, conv, reduced, count):
    """Without the first barrier of each tile's kernel, or without any."""
    rng = np.random.default_rng(0)
    x = normal(rng, 1, conv.in_channels, 70)
    weight = normal(rng, conv.out_channels, conv.in_channels, conv.taps)
    broken = compile_kernels(
        "cuda",
        {"broken": conv1d(conv, precision=reduced)},
        edit_source=lambda text: KERNEL.join(
            part.replace("__syncthreads();", "", count) for part in text.split(KERNEL)
        ),
    )
    with pytest.raises(EmulationFault):
        packed = pack_conv1d(conv, weight, precision=reduced)
        broken("broken", [x, packed], (1, conv.out_channels, 70))


def shared_bytes(tile):
    """Of the window, the two panels and the coefficients of all slices."""
    window = tile.precision.parts * tile.chunk * tile.window_pitch
    coefficients = 4 * tile.chunk * tile.precision.per_word
    return 4 * tile.slices * (window + 2 * tile.panel_words + coefficients)


def check_product(product, rows, channels, taps):
    """What every product on tensor cores holds: its tiles fit and read all of its weights."""
    packed = product.pack(np.zeros((rows, channels, taps), np.float32))
    assert (packed.shape, packed.dtype) == (product.weight_shape, product.weight_dtype)
    for tile in product.tiles:
        assert shared_bytes(tile) <= CUDA_SHARED_BYTES
        assert channels <= tile.channels <= product.channels
        assert tile.weights == product.tiles[0].weights
        # The banks of a fragment's lanes: four words by eight neighbours.
        window = {(word * tile.window_pitch + n) % 32 for word in range(4) for n in range(8)}
        rows_of_word = {(word * 32 + (n ^ 8 * word)) % 32 for word in range(4) for n in range(8)}
        assert len(window) == len(rows_of_word) == 32


@pytest.mark.parametrize("reduced", REDUCED, ids=lambda precision: precision.value)
@pytest.mark.parametrize(
    ("rows", "channels", "taps", "dilation"),
    [(256, 256, 11, 5), (128, 128, 11, 1), (512, 256, 3, 1), (2560, 512, 2, 1)],
)
def test_the_tiles_of_the_decoder_fit(reduced, rows, channels, taps, dilation):
    product = make_product(rows, channels, taps, 1, dilation, precision=reduced)
    check_product(product, rows, channels, taps)
    assert [(tile.slices, tile.block_columns) for tile in product.tiles] == [(1, 64), (2, 32)]
    assert product.tiles[0].stages <= -(-taps // (4 if reduced.parts == 2 else 6))


@pytest.mark.parametrize("reduced", REDUCED, ids=lambda precision: precision.value)
def test_many_taps_are_taken_in_stages_and_what_does_not_fit_is_refused(reduced):
    tile = make_product(256, 256, 21, 1, 9, precision=reduced).tiles[0]
    assert tile.stages > 1
    assert tile.stages * tile.stage_taps >= 21
    with pytest.raises(InputError, match="--precision float32-fma"):
        make_product(256, 256, 21, 1, 90, precision=reduced)


@pytest.mark.parametrize("reduced", REDUCED, ids=lambda precision: precision.value)
def test_a_deep_product_whose_slices_do_not_fit_has_none(reduced):
    product = make_product(64, 512, 3, 1, 200, precision=reduced)
    check_product(product, 64, 512, 3)
    assert [(tile.slices, tile.block_rows) for tile in product.tiles] == [(1, 64)]


@pytest.mark.cuda_build
def test_parts_fit_registers(compile_kernels):
    """A multiprocessor has 64 Ki registers, for two blocks or three; a block has 48 KiB.

    A few words may be spilled: that costs less than a block less on the multiprocessor.
    """
    try:
        compiler = find_cuda_compiler()
    except EnvironmentFault as fault:
        pytest.skip(str(fault))
    snake = Producer(adain=True, activation=Activation.SNAKE)
    convs = {
        "stages": conv1d(Conv1d(128, 128, 11, 1, 5, 25, 25), snake, True, True, **IN_PARTS),
        "wide": conv1d(Conv1d(256, 256, 7, 1, 3, 9, 9), snake, True, **IN_PARTS),
        "slices": conv1d(Conv1d(1090, 1024, 3, 1, 1, 1, 1), snake, True, **IN_PARTS),
        "staged slices": conv1d(Conv1d(512, 512, 5, 1, 1, 2, 2), bias=True, **IN_PARTS),
        "transposed": conv_transpose1d(ConvTranspose1d(512, 256, 20, 10, 5, 5), True, **IN_PARTS),
    }
    source = compile_kernels("cuda", convs, check=False).executable.source
    resources = compiler.compile(source, ("sm_80", "sm_90")).resources
    assert len(resources) == 2 * 2 * len(convs)  # two architectures, and tiles of two sizes
    for kernel in resources:
        assert kernel.spill_bytes <= 64, kernel
        # A large block has 128 threads, but 256 where slices share a deep product.
        is_deep = "512x512k5" in kernel.kernel or "1090x1024" in kernel.kernel
        has_128_threads = not is_deep and kernel.kernel.endswith("_kernel")
        assert kernel.registers <= (168 if has_128_threads else 128), kernel
        assert kernel.shared_bytes <= 48 << 10, kernel


def test_small_products_stay_float32():
    assert Precision.TF32.of_product(64, 32) is Precision.TF32
    assert Precision.TF32.of_product(22, 128) is Precision.FLOAT32
    assert Precision.BFLOAT16.of_product(256, 22) is Precision.FLOAT32
    assert Precision.BFLOAT16X3.of_product(64, 32) is Precision.BFLOAT16X3
    assert Precision.BFLOAT16X3.of_product(22, 128) is Precision.FLOAT32


@pytest.mark.parametrize("reduced", REDUCED, ids=lambda precision: precision.value)
@pytest.mark.parametrize(("channels", "taps"), [(512, 1), (1090, 3), (512, 5), (700, 8), (514, 11)])
def test_slices_of_a_deep_product_fit(reduced, channels, taps):
    product = make_product(1024, channels, taps, precision=reduced)
    check_product(product, 1024, channels, taps)
    assert {tile.slices for tile in product.tiles} == {4}
    assert product.tiles[-1].block_columns == 16
