"""Convolutions and linear layers on tiles against float64.

They run emulated on every x86-64 CPU, and with the instructions where this machine has them.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
import tvm

from kokoro_pipeline.compiler.kernels.common.bfloat16_parts import Parts
from kokoro_pipeline.compiler.kernels.common.convolutions import Conv1d, ConvTranspose1d
from kokoro_pipeline.compiler.kernels.common.producer import Activation, Producer
from kokoro_pipeline.compiler.kernels.cpu import tile_weights
from kokoro_pipeline.compiler.kernels.cpu.tile_conv1d import (
    Multiplication,
    TileConv1d,
    pack_tile_conv_transpose1d,
    pack_tile_linear,
    tile_conv1d,
    tile_conv_transpose1d,
    tile_linear,
)
from kokoro_pipeline.compiler.kernels.cpu.tile_unit import TileUnit
from kokoro_pipeline.compiler.kernels.cpu.tile_weights import TileWeights, pack_tiles
from kokoro_pipeline.compiler.kernels.cpu.transform import SameConv1d
from kokoro_pipeline.compiler.kernels.cpu.vector import VectorTarget
from kokoro_pipeline.errors import InputError

pytestmark = pytest.mark.slow

RMS = {Parts.ONE: 2.5e-3, Parts.TWO: 5e-6, Parts.THREE: 2e-7}
"""Error over the deviation of the products, of many; the largest is some eight times as large."""

CONVS = {
    "odd channels, dilated": (Conv1d(22, 38, 3, 1, 2, 2, 2), Parts.TWO),
    "many taps": (Conv1d(32, 64, 11, 1, 1, 5, 5), Parts.TWO),
    "514 inputs": (Conv1d(514, 40, 3, 1, 1, 1, 1), Parts.TWO),
    "1090 inputs, one output": (Conv1d(1090, 1, 1), Parts.TWO),
    "one product": (Conv1d(48, 64, 3, 1, 1, 1, 1), Parts.ONE),
    "six products": (Conv1d(48, 70, 3, 1, 1, 1, 1), Parts.THREE),
    "six products of many terms": (Conv1d(256, 70, 11, 1, 1, 5, 5), Parts.THREE),
    "strided, uneven padding": (Conv1d(40, 33, 4, 2, 3, 3, 1), Parts.TWO),
    "one channel each way": (Conv1d(1, 1, 3, 1, 1, 1, 1), Parts.TWO),
}
LENGTHS = (1, 16, 17, 31, 33, 321, 530)


def convolved(x, w, b, conv):
    padded = np.pad(x.astype(np.float64), ((0, 0), (conv.pad_left, conv.pad_right), (0, 0)))
    y = torch.nn.functional.conv1d(
        torch.from_numpy(padded).transpose(1, 2),
        torch.from_numpy(w).double(),
        torch.from_numpy(b).double(),
        stride=conv.stride,
        dilation=conv.dilation,
    )
    return y.transpose(1, 2).numpy()


def draw(rng, *shape, scale=1.0):
    return (scale * rng.standard_normal(shape)).astype(np.float32)


def assert_close(y, exact, parts, words=""):
    error = y - exact
    if error.size >= 5000:
        assert np.sqrt((error**2).mean()) <= RMS[parts], words
    assert np.abs(error).max() <= 8 * RMS[parts], words


def compile_all(tile_target, functions):
    library = tile_target.compile(list(functions.values()))
    return {key: library[str(f.attrs["global_symbol"])] for key, f in functions.items()}


@pytest.fixture(scope="module")
def plain(tile_target):
    return compile_all(
        tile_target,
        {
            name: tile_conv1d(
                tile_target.vectors, TileConv1d(conv, Multiplication(parts, tile_target.unit))
            )
            for name, (conv, parts) in CONVS.items()
        },
    )


@pytest.mark.parametrize("name", CONVS)
def test_equals_float64_at_every_length_and_batch(name, plain, call_kernel):
    (conv, parts), rng = CONVS[name], np.random.default_rng(7)
    scale = (conv.in_channels * conv.taps) ** -0.5
    w = draw(rng, conv.out_channels, conv.in_channels, conv.taps, scale=scale)
    b = draw(rng, conv.out_channels)
    packed = pack_tiles(parts, w, b)
    for length in LENGTHS:
        for batch in (1, 3) if length < 33 else (1,):
            if length + conv.pad_left + conv.pad_right <= conv.reach:
                continue
            x = draw(rng, batch, length, conv.in_channels)
            exact = convolved(x, w, b, conv)
            (y,) = call_kernel(plain[name], [x, packed], exact.shape)
            assert_close(y, exact, parts, (length, batch))


def test_no_bias_is_a_bias_of_zero(plain, call_kernel):
    (conv, parts), rng = CONVS["one product"], np.random.default_rng(8)
    w, x = draw(rng, 64, 48, 3, scale=1 / 12), draw(rng, 1, 40, 48)
    packed = pack_tiles(parts, w), pack_tiles(parts, w, np.zeros(64, np.float32))
    np.testing.assert_array_equal(*packed)
    (y,) = call_kernel(plain["one product"], [x, packed[0]], (1, 40, 64))
    assert_close(y, convolved(x, w, np.zeros(64, np.float32), conv), parts)


def test_weights_take_at_most_four_bytes_beyond_the_cache():
    w = np.zeros((256, 256, 11), np.float32)
    for parts, size in ((Parts.ONE, 2), (Parts.TWO, 4), (Parts.THREE, 4)):
        assert pack_tiles(parts, w).nbytes == size * w.size + 4 * 256
    small = np.zeros((64, 64, 3), np.float32)
    assert pack_tiles(Parts.THREE, small).nbytes == 6 * small.size + 4 * 64


@pytest.mark.parametrize("taps", [1, 3])
def test_a_kernel_splits_weights_as_they_are_split_when_packed(
    taps, tile_target, call_kernel, monkeypatch
):
    """Bit for bit, with weights of every size and with subnormal numbers as 0."""
    rng = np.random.default_rng(taps)
    conv = Conv1d(700, 40, taps, 1, 1, taps // 2, taps // 2)
    w = draw(rng, 40, 700, taps) * np.float32(2.0) ** rng.integers(-60, 30, (40, 700, taps))
    w[0, :4, 0] = 1e-40, -1e-40, 1e37, -1e37
    b, x = draw(rng, 40), draw(rng, 2, 83, 700)
    static = TileConv1d(conv, Multiplication(Parts.THREE, tile_target.unit))
    results = []
    for cached in (0, 1 << 30):
        monkeypatch.setattr(tile_weights, "CACHED_BYTES", cached)
        assert TileWeights(Parts.THREE, 40, 700, taps).split_by_kernel is (cached == 0)
        kernel = compile_all(tile_target, {0: tile_conv1d(tile_target.vectors, static)})[0]
        (y,) = call_kernel(kernel, [x, pack_tiles(Parts.THREE, w, b)], (2, 83, 40))
        results.append(y)
    assert np.isfinite(results[0]).all()
    np.testing.assert_array_equal(results[0], results[1])


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3.4e38])
def test_weights_that_a_kernel_cannot_split_are_refused(value):
    w = np.zeros((512, 256, 3), np.float32)
    w[100, 5, 1] = value
    with pytest.raises(InputError, match=r"\[512, 256, 3\].*not finite, or above"):
        pack_tiles(Parts.THREE, w)


def test_a_row_has_the_same_bits_wherever_it_lies(plain, call_kernel):
    """Blocks and tiles of 32 and 16 rows sum in one order."""
    name = "1090 inputs, one output"
    (_, parts), rng = CONVS[name], np.random.default_rng(10)
    packed = pack_tiles(parts, draw(rng, 1, 1090, 1), draw(rng, 1))
    x = draw(rng, 1, 700, 1090)
    (whole,) = call_kernel(plain[name], [x, packed], (1, 700, 1))
    for start, stop in ((0, 1), (100, 105), (40, 137), (699, 700), (3, 20)):
        (y,) = call_kernel(plain[name], [x[:, start:stop], packed], (1, stop - start, 1))
        np.testing.assert_array_equal(y, whole[:, start:stop])


@pytest.mark.parametrize("name", ["odd channels, dilated", "one product", "six products"])
def test_infinity_and_nan_are_those_of_float32(name, plain, call_kernel):
    """Also with weights that are bfloat16 numbers, or whose parts have opposite signs."""
    (conv, parts), rng = CONVS[name], np.random.default_rng(12)
    w = draw(rng, conv.out_channels, conv.in_channels, conv.taps)
    w[::3] = np.sign(w[::3]) * 1.5
    w[1::3] = np.sign(w[1::3]) * 0.99609375
    w[2, 0] = 300.7
    b = draw(rng, conv.out_channels)
    x = draw(rng, 1, 61, conv.in_channels)
    for row, channel, value in ((5, 0, np.inf), (20, 1, -np.inf), (40, 21, np.nan)):
        x[0, row, channel] = value
    x[0, 50] = np.inf  # inf - inf is NaN in float32 too
    with np.errstate(invalid="ignore"):
        exact = convolved(x, w, b, conv)
    assert np.isinf(exact).any() and np.isnan(exact).any() and np.isfinite(exact).any()
    (y,) = call_kernel(plain[name], [x, pack_tiles(parts, w, b)], exact.shape)
    finite = np.isfinite(exact)
    np.testing.assert_array_equal(y[~finite], exact[~finite])
    norm = np.sqrt((w.astype(np.float64) ** 2).sum((1, 2)).max())
    np.testing.assert_allclose(y[finite], exact[finite], atol=20 * RMS[parts] * norm)


def test_the_largest_floats_stay_finite(plain, call_kernel):
    conv, parts = CONVS["one channel each way"]
    x = np.full((1, 3, 1), np.finfo(np.float32).max)
    w = np.array([[[0.25, 0.5, 0.0]]], np.float32)
    (y,) = call_kernel(plain["one channel each way"], [x, pack_tiles(parts, w)], (1, 3, 1))
    np.testing.assert_allclose(y[0, :, 0], x[0, :, 0] * [0.5, 0.75, 0.75], rtol=2e-5)


@pytest.mark.parametrize("parts", Parts)
def test_a_large_float_changes_no_neighbour(parts, tile_target, call_kernel):
    """Vectors that hold one are split number by number, to the same bits as in other vectors."""
    conv = Conv1d(64, 64, 1)
    static = TileConv1d(conv, Multiplication(parts, tile_target.unit))
    kernel = compile_all(tile_target, {0: tile_conv1d(tile_target.vectors, static)})[0]
    rng = np.random.default_rng(3)
    x = draw(rng, 1, 40, 64)
    identity = np.eye(64, dtype=np.float32)[:, :, None]
    packed = pack_tiles(parts, identity)
    (before,) = call_kernel(kernel, [x, packed], x.shape)
    large = 3e38 if parts is Parts.ONE else 3.4e38  # which rounds to a bfloat16 infinity
    for row, channel, value in ((3, 7, large), (9, 40, -large), (9, 63, np.inf), (30, 0, np.nan)):
        x[0, row, channel] = value
    (after,) = call_kernel(kernel, [x, packed], x.shape)
    # In a row of the product, infinity times 0 is NaN; the other rows are as they were.
    rows = [row for row in range(40) if row not in (3, 9, 30)]
    np.testing.assert_array_equal(after[:, rows], before[:, rows])
    finite = [channel for channel in range(64) if channel != 7]
    np.testing.assert_array_equal(after[0, 3, finite], before[0, 3, finite])
    np.testing.assert_allclose(after[0, 3, 7], large, rtol=4e-3 if parts is Parts.ONE else 2e-5)
    assert np.isnan(after[0, 30]).all()


# What is fused

ADAIN_SNAKE = Producer(True, Activation.SNAKE)
EVERYTHING = "adain, snake, residual, statistics"
FUSED = {
    EVERYTHING: SameConv1d(32, 40, 3, ADAIN_SNAKE, True, 1e-5),
    "odd channels, adain, leaky relu, residual": SameConv1d(
        35, 70, 3, Producer(True, Activation.LEAKY_RELU, 0.2), True
    ),
}
DILATIONS = {EVERYTHING: (1, 3, 5, 40)}


def pack(_target, weight, bias):
    return pack_tiles(Parts.TWO, weight, bias)


@pytest.fixture(scope="module")
def fused(tile_target):
    """Callable with the dilation, as the kernels of transformed convolutions are."""
    kernels = {}
    for name, same in FUSED.items():
        for dilation in DILATIONS.get(name, (1, 5)):
            pad = dilation * (same.taps // 2)
            conv = Conv1d(same.in_channels, same.out_channels, same.taps, 1, dilation, pad, pad)
            multiplication = Multiplication(Parts.TWO, tile_target.unit)
            static = TileConv1d(conv, multiplication, same.producer, same.residual, same.statistics)
            kernels[name, dilation] = tile_conv1d(tile_target.vectors, static)
    compiled = compile_all(tile_target, kernels)

    def with_dilation(name):
        def run(*arguments):
            (dilation,) = (each for each in arguments if isinstance(each, int))
            tensors = [each for each in arguments if not isinstance(each, int)]
            compiled[name, dilation](*tensors)

        return run

    return {name: with_dilation(name) for name in FUSED}


@pytest.mark.parametrize("name", FUSED)
def test_fused_equals_float64(name, fused, tile_target, make_same_conv_case):
    for length, dilation in ((1, 1), (2, 5), (33, 1), (601, 1), (601, 5)):
        case = make_same_conv_case(FUSED[name], 2 if length < 30 else 1, length, dilation)
        y = case.run(fused[name], pack(None, case.weight, case.bias))
        error, scale = y - case.expected, max(1, case.expected.std())
        assert np.sqrt((error**2).mean()) <= 6e-6 * scale, (length, dilation)


def test_statistics_are_those_of_the_rows_written(fused, tile_target, check_statistics):
    check_statistics(fused[EVERYTHING], FUSED[EVERYTHING], tile_target, pack)


def test_rows_of_a_batch_are_apart(fused, tile_target, isolate_batch_rows):
    convs = {name: conv for name, conv in FUSED.items() if conv.statistics is None}
    isolate_batch_rows(fused, convs, tile_target, pack)


def test_the_number_of_threads_cannot_show(fused, tile_target, vary_threads):
    vary_threads(fused, {EVERYTHING: FUSED[EVERYTHING]}, tile_target, pack)


# Transposed convolutions and linear layers

TRANSPOSED = {
    "as in the generator": ConvTranspose1d(64, 24, 12, 6, 3, 3),
    "no crop": ConvTranspose1d(33, 7, 8, 4),
    "uneven crop, three taps": ConvTranspose1d(32, 16, 6, 2, 3, 1),
    "one tap": ConvTranspose1d(40, 40, 5, 5, 0, 2),
}


@pytest.fixture(scope="module")
def transposed(tile_target):
    multiplication = Multiplication(Parts.TWO, tile_target.unit)
    return compile_all(
        tile_target,
        {
            name: tile_conv_transpose1d(tile_target.vectors, conv, multiplication)
            for name, conv in TRANSPOSED.items()
        },
    )


@pytest.mark.parametrize("name", TRANSPOSED)
def test_transposed_equals_float64(name, transposed, call_kernel):
    conv, rng = TRANSPOSED[name], np.random.default_rng(3)
    scale = (conv.in_channels * conv.taps / conv.stride) ** -0.5
    w = draw(rng, conv.in_channels, conv.out_channels, conv.taps, scale=scale)
    b = draw(rng, conv.out_channels)
    packed = pack_tile_conv_transpose1d(Parts.TWO, conv.stride, w, b)
    for length in (1, 2, 16, 33, 300):
        for batch in (1, 2):
            x = draw(rng, batch, length, conv.in_channels)
            full = torch.nn.functional.conv_transpose1d(
                torch.from_numpy(x).double().transpose(1, 2),
                torch.from_numpy(w).double(),
                torch.from_numpy(b).double(),
                stride=conv.stride,
            )
            exact = full.transpose(1, 2).numpy()
            exact = exact[:, conv.crop_left : exact.shape[1] - conv.crop_right]
            assert exact.shape[1] == conv.out_length(length)
            if exact.shape[1] < 1:
                continue
            (y,) = call_kernel(transposed[name], [x, packed], exact.shape)
            assert_close(y, exact, Parts.TWO, (length, batch))


LINEARS = {
    Parts.ONE: ((128, 70),),
    Parts.TWO: ((128, 512), (301, 50), (17, 3)),
    Parts.THREE: ((96, 50), (768, 301)),
}


@pytest.mark.parametrize("parts", Parts)
def test_linear_equals_float64(parts, tile_target, call_kernel):
    multiplication = Multiplication(parts, tile_target.unit)
    compiled = compile_all(
        tile_target,
        {
            shape: tile_linear(tile_target.vectors, *shape, multiplication)
            for shape in LINEARS[parts]
        },
    )
    for K, N in LINEARS[parts]:
        rng = np.random.default_rng(K)
        w, b = draw(rng, N, K, scale=K**-0.5), draw(rng, N)
        packed = pack_tile_linear(parts, w, b)
        for rows in (1, 2, 16, 17, 43, 600):
            x = draw(rng, rows, K)
            exact = x.astype(np.float64) @ w.T.astype(np.float64) + b
            (y,) = call_kernel(compiled[K, N], [x, packed], (rows, N))
            assert_close(y, exact, parts, (K, N, rows))


# The instructions


@pytest.mark.parametrize("parts", Parts)
@pytest.mark.parametrize("cached", [0, 1 << 30])
def test_a_kernel_on_tiles_is_its_emulation_bit_for_bit(
    cached, parts, tile_target, make_same_conv_case, monkeypatch
):
    """The same program with instructions and with loops, whether weights fit the cache or not."""
    monkeypatch.setattr(tile_weights, "CACHED_BYTES", cached)
    if tile_target.unit is TileUnit.EMULATED:
        pytest.skip("compares the instructions, where this machine has them")
    same, kernels = FUSED[EVERYTHING], {}
    conv = Conv1d(same.in_channels, same.out_channels, same.taps, 1, 3, 3, 3)
    for unit in TileUnit:
        static = TileConv1d(
            conv, Multiplication(parts, unit), same.producer, same.residual, same.statistics
        )
        kernels[unit] = tile_conv1d(tile_target.vectors, static)
    compiled = compile_all(tile_target, kernels)
    for length in (1, 43, 300, 530):
        case = make_same_conv_case(same, 1, length, 3)
        packed = pack_tiles(parts, case.weight, case.bias)
        results = [
            case.run_all(
                lambda *given, f=function: f(*(a for a in given if not isinstance(a, int))), packed
            )
            for function in compiled.values()
        ]
        for one, other in zip(results[0], results[-1], strict=True):
            np.testing.assert_array_equal(one.view(np.uint32), other.view(np.uint32))


@pytest.mark.parametrize("parts", Parts)
def test_amx_kernels_hold_the_products_of_their_parts(parts):
    """Tiles of 32 and of 16 rows, each by two of columns, and nothing that emulates."""
    static = TileConv1d(
        Conv1d(64, 64, 3, 1, 1, 1, 1),
        Multiplication(parts, TileUnit.AMX),
        ADAIN_SNAKE,
        True,
        1e-5,
    )
    kernel = tile_conv1d(VectorTarget.of("sapphirerapids"), static)
    target = tvm.target.Target({"kind": "llvm", "mcpu": "sapphirerapids"})
    text = tvm.compile(tvm.IRModule({"f": kernel}), target=target).mod.inspect_source("asm")
    names = [line.split()[0] for line in text.splitlines() if line.split()]
    # LLVM may unroll the loop over taps.
    taps, rest = divmod(names.count("tdpbf16ps"), (4 + 2) * len(parts.pairs))
    assert taps in (1, 3) and rest == 0
    assert names.count("ldtilecfg") == names.count("tilerelease") == 1
    assert not any("ldmxcsr" in name for name in names)


def test_snake_over_partial_vectors_is_refused():
    static = TileConv1d(Conv1d(22, 32, 3), Multiplication(Parts.TWO, TileUnit.AMX), ADAIN_SNAKE)
    with pytest.raises(InputError, match="Snake over 22 channels"):
        tile_conv1d(VectorTarget(16, 32), static)
