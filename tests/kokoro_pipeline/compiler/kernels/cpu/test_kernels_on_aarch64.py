"""Every kernel as `build --host linux-aarch64` compiles it, under qemu, against float64.

Vectors of four lanes and 32 registers: other tiles, tails and orders of summing than on x86.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
import tvm
from torch.nn import functional
from tvm import tirx

from kokoro_pipeline.compiler.codegen.target import host_mcpu
from kokoro_pipeline.compiler.kernels.common import elementary
from kokoro_pipeline.compiler.kernels.common.builder import Parameter, T, build_kernel, i64
from kokoro_pipeline.compiler.kernels.common.convolutions import Conv1d, ConvTranspose1d
from kokoro_pipeline.compiler.kernels.common.harmonic_source import HarmonicSource
from kokoro_pipeline.compiler.kernels.common.producer import NOTHING, Activation, Producer
from kokoro_pipeline.compiler.kernels.cpu.adain import adain
from kokoro_pipeline.compiler.kernels.cpu.attention import attention
from kokoro_pipeline.compiler.kernels.cpu.conv1d import conv1d, pack_conv1d
from kokoro_pipeline.compiler.kernels.cpu.conv_transpose1d import (
    conv_transpose1d,
    depthwise_upsample,
    pack_conv_transpose1d,
    pack_depthwise_upsample,
)
from kokoro_pipeline.compiler.kernels.cpu.fft_conv1d import RealFFT
from kokoro_pipeline.compiler.kernels.cpu.harmonic_source import excitation, pack_mix, spectrum
from kokoro_pipeline.compiler.kernels.cpu.layer_norm import layer_norm
from kokoro_pipeline.compiler.kernels.cpu.linear import linear, pack_linear
from kokoro_pipeline.compiler.kernels.cpu.lstm import lstm_recurrence, pack_lstm_recurrent
from kokoro_pipeline.compiler.kernels.cpu.normals import standard_normals
from kokoro_pipeline.compiler.kernels.cpu.polar import polar_to_complex
from kokoro_pipeline.compiler.kernels.cpu.statistics import channel_statistics
from kokoro_pipeline.compiler.kernels.cpu.transform import SameConv1d, Transform
from kokoro_pipeline.compiler.kernels.cpu.transform_conv1d import (
    pack_transformed,
    transformed_conv1d,
)
from kokoro_pipeline.compiler.kernels.cpu.vector import VectorTarget
from kokoro_pipeline.compiler.kernels.cpu.winograd_conv1d import winograd_of
from kokoro_pipeline.normals import standard_normals as exact_normals

pytestmark = pytest.mark.qemu

NEON = VectorTarget(lanes=4, registers=32)
SNAKE = Producer(True, Activation.SNAKE)
LEAKY = Producer(True, Activation.LEAKY_RELU, 0.2)

Functions = Mapping[str, Callable[..., None]]


@dataclass(frozen=True)
class Transformed:
    """A convolution through Winograd's transform with that many outputs, or the FFT (None)."""

    conv: SameConv1d
    outputs: int | None
    largest: float
    """Error, over the standard deviation of the result."""

    @property
    def transform(self) -> Transform:
        if self.outputs is None:
            return RealFFT(self.conv.taps, 32)
        return winograd_of(self.conv.taps, self.outputs)

    def kernel(self) -> Any:
        return transformed_conv1d(NEON, self.conv, self.transform, tiles=16)

    def pack(self, w: np.ndarray, b: np.ndarray) -> np.ndarray:
        return pack_transformed(NEON, self.transform, w, b)


def elementwise(name: str) -> Any:
    count = tirx.Var("n", "int64")

    def body(x: Any, y: Any) -> None:
        with T.serial(i64(0), count) as i:
            value = NEON.load(x, i * NEON.lanes)
            NEON.store(y, i * NEON.lanes, function_of(name)(NEON, value))

    shape = (count, NEON.lanes)
    return build_kernel(f"test_{name}", [Parameter("x", shape), Parameter("y", shape)], body)


# 36, 20 and 52 channels divide into vectors of four, not into wider ones.
TRANSFORMED = {
    "FFT, seven taps": Transformed(SameConv1d(52, 36, 7, SNAKE, residual=True), None, 3e-6),
    "FFT, eleven taps": Transformed(SameConv1d(128, 16, 11, LEAKY), None, 3e-6),
    "FFT, plain": Transformed(SameConv1d(20, 32, 5), None, 3e-6),
    "Winograd F(6,3)": Transformed(SameConv1d(52, 36, 3, SNAKE, residual=True), 6, 2e-5),
    "Winograd F(4,3)": Transformed(SameConv1d(128, 16, 3, LEAKY), 4, 8e-6),
    "Winograd F(2,3)": Transformed(SameConv1d(20, 32, 3), 2, 3e-6),
}
WITH_STATISTICS = {
    "FFT": Transformed(SameConv1d(20, 48, 7, residual=True, statistics=1e-5), None, 3e-6),
    "Winograd": Transformed(SameConv1d(52, 36, 3, LEAKY, statistics=1e-5), 6, 2e-5),
}
SOURCE = HarmonicSource(9, 24000, 300, 0.1, 0.003, 0.1 / 3, 10.0)
# (convolution, producer, residual)
DIRECT = {
    "odd channels, stride": (Conv1d(33, 22, 4, 2, 1, 1, 2), NOTHING, False),
    "dilated": (Conv1d(40, 50, 7, 1, 3, 9, 9), NOTHING, False),
    "one channel each way": (Conv1d(1, 1, 3, 2, 1, 1, 1), NOTHING, False),
    "one tap": (Conv1d(22, 131, 1), NOTHING, False),
    "Snake, residual": (Conv1d(36, 45, 3, 1, 5, 5, 5), SNAKE, True),
    "LeakyReLU": (Conv1d(35, 70, 5, 1, 1, 2, 2), LEAKY, False),
}
TRANSPOSED = {
    "two taps a row": ConvTranspose1d(20, 36, 12, 6, 3, 3),
    "odd channels": ConvTranspose1d(19, 25, 20, 10, 5, 5),
    "one channel": ConvTranspose1d(22, 1, 20, 5, 10, 10),
}
LINEAR = ((17, 3), (301, 50), (128, 180))
HIDDEN = (20, 64)
HEADS = ((3, 20), (12, 64))
FEATURES = (21, 100, 768)
CHANNELS = (3, 18, 128)
ADAIN = ((36, Activation.SNAKE), (35, Activation.LEAKY_RELU), (22, Activation.NONE))
TURNS = np.float32(1 / np.pi)


def function_of(name):
    """The function (arithmetic, x) of a name."""
    if name == "sin_squared":
        return lambda m, x: elementary.sin_squared(m, x, m.const(float(TURNS)))
    return getattr(elementary, name)


ELEMENTARY = {
    # truth, bound of |x|, largest error over max(1, truth)
    "exp": (np.exp, 87.0, 1.3e-7),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 87.0, 1.3e-7),
    "tanh": (np.tanh, 50.0, 2e-7),
    "gelu_tanh": (
        lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        20.0,
        3e-7,
    ),
    "sin": (np.sin, 1e4, 1.5e-7),
    "sin_squared": (lambda x: np.sin(np.pi * x * float(TURNS)) ** 2, 1e4, 2.5e-7),
}


def source_kernels(target: VectorTarget) -> dict[Any, Any]:
    return {
        ("source", "excitation"): excitation(target, SOURCE),
        ("source", "spectrum"): spectrum(target, 11, 20, 5),
    }


def make_kernels() -> dict[Any, Any]:
    """Every kernel of this file by what the tests call it."""
    return {
        **{("transformed", name): case.kernel() for name, case in TRANSFORMED.items()},
        **{("moments", name): case.kernel() for name, case in WITH_STATISTICS.items()},
        **source_kernels(NEON),
        **{
            ("direct", name): conv1d(NEON, conv, producer, residual=residual)
            for name, (conv, producer, residual) in DIRECT.items()
        },
        **{("transposed", name): conv_transpose1d(NEON, conv) for name, conv in TRANSPOSED.items()},
        **{("depthwise", c): depthwise_upsample(NEON, c) for c in (3, 20)},
        "polar": polar_to_complex(NEON, 11),
        "normals": standard_normals(NEON, (60, 9)),
        **{("linear", shape): linear(NEON, *shape) for shape in LINEAR},
        **{("lstm", h): lstm_recurrence(NEON, h) for h in HIDDEN},
        **{("attention", size): attention(NEON, *size) for size in HEADS},
        **{("layer norm", n): layer_norm(NEON, n, 1e-12) for n in FEATURES},
        **{("statistics", c): channel_statistics(NEON, c, 1e-5) for c in CHANNELS},
        **{("adain", c): adain(NEON, c, kind, 0.2) for c, kind in ADAIN},
        **{("elementary", name): elementwise(name) for name in ELEMENTARY},
    }


@pytest.fixture(scope="module")
def kernels(aarch64: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Functions]:
    """All of them in one emulated process."""
    made = make_kernels()
    folder = tmp_path_factory.mktemp("aarch64") / "kernels"
    process = aarch64.AArch64Process(list(made.values()), folder)
    yield {key: process[str(f.attrs["global_symbol"])] for key, f in made.items()}
    process.close()


def normal(*shape: int, scale: float = 1.0, seed: int = 0) -> np.ndarray:
    return (scale * np.random.default_rng([seed, *shape]).standard_normal(shape)).astype(np.float32)


def double(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(array).double()


def test_the_target_has_the_vectors_that_are_tested(aarch64):
    assert VectorTarget.of(aarch64.TARGET) == NEON


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformed_convolutions(name, kernels, make_same_conv_case):
    transformed = TRANSFORMED[name]
    for batch, length, dilation in ((2, 1, 1), (2, 27, 3), (1, 61, 5), (1, 203, 1)):
        case = make_same_conv_case(transformed.conv, batch, length, dilation)
        y = case.run(kernels["transformed", name], transformed.pack(case.weight, case.bias))
        error = np.abs(y - case.expected).max() / case.expected.std()
        assert error <= transformed.largest, (length, dilation)


@pytest.mark.parametrize("name", WITH_STATISTICS)
def test_statistics_of_what_a_convolution_writes(name, kernels, make_same_conv_case):
    transformed = WITH_STATISTICS[name]
    for length, dilation in ((1, 1), (27, 3), (203, 5)):
        case = make_same_conv_case(transformed.conv, 2, length, dilation)
        packed = transformed.pack(case.weight, case.bias)
        y, mean, rstd = case.run_all(kernels["moments", name], packed)
        error = np.abs(y - case.expected).max() / case.expected.std()
        assert error <= transformed.largest, (length, dilation)
        exact = y.astype(np.float64)
        np.testing.assert_allclose(mean, exact.mean(1), rtol=2e-7, atol=2e-6)
        np.testing.assert_allclose(rstd, 1 / np.sqrt(exact.var(1) + 1e-5), rtol=2e-6)


def test_normals(kernels):
    for frames in (1, 8):
        key = np.array([frames, 1 << 31])
        values = tvm.runtime.tensor(np.full((1, 60 * frames, 9), np.nan, np.float32))
        kernels["normals"](*map(tvm.runtime.tensor, (np.zeros(frames, np.int64), key)), values)
        expected = exact_normals(key, 0, 540 * frames).reshape(values.shape)
        np.testing.assert_allclose(values.numpy(), expected, rtol=0, atol=2e-6)


def test_the_harmonic_source_is_this_machines(kernels):
    """float64 on vectors of two, against the vectors of here, which are held to numpy elsewhere."""
    here = source_kernels(VectorTarget.of(host_mcpu()))
    modules = {str(f.attrs["global_symbol"]): f for f in here.values()}
    target = tvm.target.Target({"kind": "llvm", "mcpu": host_mcpu()})
    library = tvm.compile(tvm.IRModule(modules), target=target)
    f0 = (150 + 85 * np.sin(np.arange(7))).astype(np.float32)[None]
    f0[0, 3] = 0.0  # unvoiced
    mix = pack_mix(np.linspace(-0.5, 0.5, 9), np.array([0.03]))
    arguments = [f0, normal(1, 2100, 9), mix]
    basis = normal(22, 1, 20).astype(np.float64)
    results = []
    for excite, transform in (
        (kernels["source", "excitation"], kernels["source", "spectrum"]),
        (library[f.attrs["global_symbol"]] for f in here.values()),
    ):
        wave = tvm.runtime.tensor(np.full((1, 2100), np.nan))
        excite(*map(tvm.runtime.tensor, arguments), wave)
        har = tvm.runtime.tensor(np.full((1, 22, 421), np.nan, np.float32))
        transform(wave, tvm.runtime.tensor(basis), har)
        results.append((wave.numpy(), har.numpy()))
    (wave, har), (expected_wave, expected_har) = results
    assert np.abs(expected_wave).max() > 0.01
    np.testing.assert_allclose(wave, expected_wave, rtol=0, atol=1e-12)
    np.testing.assert_allclose(har, expected_har, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", DIRECT)
def test_direct_convolutions(name, kernels, call_kernel, make_same_conv_case):
    conv, producer, residual = DIRECT[name]
    for length in (1, 7, 25, 98):
        if producer == NOTHING:
            if length + conv.pad_left + conv.pad_right <= conv.reach:
                continue
            w, b = normal(conv.out_channels, conv.in_channels, conv.taps), normal(conv.out_channels)
            x = normal(2, length, conv.in_channels)
            inputs = [x]
            padded = functional.pad(double(x).mT, (conv.pad_left, conv.pad_right))
            options = {"stride": conv.stride, "dilation": conv.dilation}
            expected = functional.conv1d(padded, double(w), double(b), **options).mT.numpy()
        else:
            same = SameConv1d(conv.in_channels, conv.out_channels, conv.taps, producer, residual)
            case = make_same_conv_case(same, 2, length, conv.dilation)
            w, b, expected = case.weight, case.bias, case.expected
            inputs = [case.x, *case.coefficients]
        arguments = [*inputs, pack_conv1d(NEON, w, b)]
        if residual:
            arguments += case.residual
        (y,) = call_kernel(kernels["direct", name], arguments, expected.shape)
        scale = np.sqrt(conv.in_channels * conv.taps) * np.abs(w).max()
        assert np.abs(y - expected).max() <= 3e-6 * max(scale, 1), length


@pytest.mark.parametrize("name", TRANSPOSED)
def test_transposed_convolutions(name, kernels, call_kernel):
    conv = TRANSPOSED[name]
    w, b = normal(conv.in_channels, conv.out_channels, conv.taps), normal(conv.out_channels)
    packed = pack_conv_transpose1d(NEON, w, conv.stride, b)
    for length in (3, 7, 25, 98):
        x = normal(2, length, conv.in_channels)
        full = functional.conv_transpose1d(double(x).mT, double(w), double(b), stride=conv.stride)
        expected = full.mT[:, conv.crop_left : full.shape[2] - conv.crop_right].numpy()
        (y,) = call_kernel(kernels["transposed", name], [x, packed], expected.shape)
        np.testing.assert_allclose(y, expected, atol=3e-5, rtol=0)


@pytest.mark.parametrize("channels", (3, 20))
def test_depthwise_upsampling(channels, kernels, call_kernel):
    w, b = normal(channels, 1, 3), normal(channels)
    options = {"stride": 2, "padding": 1, "output_padding": 1, "groups": channels}
    for length in (1, 17):
        x = normal(2, length, channels)
        expected = functional.conv_transpose1d(double(x).mT, double(w), double(b), **options).mT
        packed = pack_depthwise_upsample(w, b)
        (y,) = call_kernel(kernels["depthwise", channels], [x, packed], (2, 2 * length, channels))
        np.testing.assert_allclose(y, expected.numpy(), atol=1e-6, rtol=0)


@pytest.mark.parametrize("shape", LINEAR, ids=str)
def test_matrix_products(shape, kernels, call_kernel):
    K, N = shape
    w, b = normal(N, K), normal(N)
    for rows in (1, 5, 13, 98):
        x = normal(rows, K)
        expected = functional.linear(double(x), double(w), double(b)).numpy()
        (y,) = call_kernel(kernels["linear", shape], [x, pack_linear(NEON, w, b)], (rows, N))
        assert np.abs(y - expected).max() <= 3e-6 * np.sqrt(K), rows


@pytest.mark.parametrize("hidden", HIDDEN)
def test_lstms(hidden, kernels, call_kernel):
    """Rows of a batch end where their own lengths say."""
    lengths = (9, 1, 4)
    torch.manual_seed(hidden)
    net = torch.nn.LSTM(24, hidden, batch_first=True, bidirectional=True).requires_grad_(False)
    recurrent = torch.stack([net.weight_hh_l0, net.weight_hh_l0_reverse]).numpy()
    net = net.double()
    w = torch.cat([net.weight_ih_l0, net.weight_ih_l0_reverse])
    b = torch.cat(
        [net.bias_ih_l0 + net.bias_hh_l0, net.bias_ih_l0_reverse + net.bias_hh_l0_reverse]
    )
    x = double(normal(len(lengths), max(lengths), 24))
    gates = (x @ w.T + b).float().numpy()
    shape = (len(lengths), max(lengths), 2 * hidden)
    arguments = [gates, pack_lstm_recurrent(NEON, recurrent), np.array(lengths, np.int64)]
    (y,) = call_kernel(kernels["lstm", hidden], arguments, shape)
    for row, length in enumerate(lengths):
        expected = net(x[row : row + 1, :length])[0][0].numpy()
        np.testing.assert_allclose(y[row, :length], expected, atol=2e-6, rtol=0)
        assert not y[row, length:].any()


@pytest.mark.parametrize("size", HEADS, ids=str)
def test_attention(size, kernels, call_kernel):
    heads, head_size = size
    lengths = (31, 1, 13)
    shape = (len(lengths), max(lengths), heads * head_size)
    q, k, v = (normal(*shape, seed=seed, scale=1.5) for seed in range(3))
    counts = np.array(lengths, np.int64)
    (y,) = call_kernel(kernels["attention", size], [q, k, v, counts], shape)
    for row, n in enumerate(lengths):
        parts = (double(a[row, :n]).reshape(n, heads, -1).transpose(0, 1) for a in (q, k, v))
        expected = functional.scaled_dot_product_attention(*parts).transpose(0, 1).reshape(n, -1)
        np.testing.assert_allclose(y[row, :n], expected.numpy(), atol=5e-6, rtol=0)
        assert not y[row, n:].any()


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("mean", (0, 100))
def test_layer_norm(features, mean, kernels, call_kernel):
    x, w, b = mean + normal(9, features), normal(features), normal(features, seed=1)
    expected = functional.layer_norm(double(x), (features,), double(w), double(b), 1e-12).numpy()
    (y,) = call_kernel(kernels["layer norm", features], [x, w, b], x.shape)
    np.testing.assert_allclose(y, expected, atol=3e-6, rtol=0)


def test_polar_spectra(kernels, call_kernel):
    x = normal(2, 97, 22)
    (y,) = call_kernel(kernels["polar"], [x], x.shape)
    size, phase = np.exp(x[..., :11].astype(np.float64)), np.sin(x[..., 11:].astype(np.float64))
    error = y - np.concatenate([size * np.cos(phase), size * np.sin(phase)], axis=2)
    assert np.abs(error / np.tile(size, 2)).max() <= 6e-7


@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("mean", (0, 1000))
def test_channel_statistics(channels, mean, kernels, call_kernel):
    for length in (1, 65, 301):
        x = mean + normal(2, length, channels)
        exact, shape = x.astype(np.float64), (2, channels)
        m, r = call_kernel(kernels["statistics", channels], [x], shape, shape)
        np.testing.assert_allclose(m, exact.mean(1), rtol=2e-7, atol=1e-6)
        np.testing.assert_allclose(r, 1 / np.sqrt(exact.var(1) + 1e-5), rtol=2e-6)


@pytest.mark.parametrize(("channels", "kind"), ADAIN, ids=str)
def test_adain(channels, kind, kernels, call_kernel):
    x, m, w, b = (
        normal(*shape, seed=seed)
        for seed, shape in enumerate([(2, 33, channels), (2, channels), (channels,), (channels,)])
    )
    r, style = np.exp(normal(2, channels, scale=0.3)), normal(2, 2 * channels, scale=0.5)
    gamma, beta = (half.double()[:, None] for half in torch.from_numpy(style).chunk(2, 1))
    h = (double(x) - double(m)[:, None]) * double(r)[:, None] * double(w) + double(b)
    z = (1 + gamma) * h + beta
    expected = functional.leaky_relu(z, 0.2 if kind is Activation.LEAKY_RELU else 1.0).numpy()
    inputs = [x, m, r, w, b, style]
    if kind is Activation.SNAKE:
        alpha = np.linspace(0.3, 3, channels, dtype=np.float32)
        inputs.append(alpha)
        expected = expected + np.sin(alpha * expected) ** 2 / alpha.astype(np.float64)
    (y,) = call_kernel(kernels["adain", channels], inputs, x.shape)
    np.testing.assert_allclose(y, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", ELEMENTARY)
def test_elementary_functions(name, kernels, call_kernel):
    truth, bound, largest = ELEMENTARY[name]
    points = np.concatenate([np.linspace(-bound, bound, 4096), np.linspace(-3, 3, 4096), [np.nan]])
    x = np.resize(points, (2049, NEON.lanes)).astype(np.float32)
    (y,) = call_kernel(kernels["elementary", name], [x], x.shape)
    expected = truth(x.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(y), np.isnan(x))
    error = np.abs(y - expected) / np.maximum(1, np.abs(expected))
    assert np.nanmax(error) <= largest


def test_the_number_of_tasks_cannot_show(kernels, set_threads, make_same_conv_case):
    transformed = TRANSFORMED["FFT, seven taps"]
    case = make_same_conv_case(transformed.conv, 2, 403, 3)
    packed = transformed.pack(case.weight, case.bias)
    results = []
    for threads in (1, 3):
        set_threads(threads)
        results.append(case.run(kernels["transformed", "FFT, seven taps"], packed))
    np.testing.assert_array_equal(results[0], results[1])


def test_a_wrong_shape_is_refused_in_words(kernels, call_kernel):
    x, w = normal(3, 21), normal(20)
    with pytest.raises(RuntimeError, match=r"shape\[0\] on argument #1"):
        call_kernel(kernels["layer norm", 21], [x, w, normal(21)], x.shape)


def test_a_write_beside_a_tensor_is_found(aarch64, tmp_path):
    """The check itself: a kernel that writes one element too many."""
    n = tirx.Var("n", "int64")

    def body(x: Any, y: Any) -> None:
        with T.serial(i64(0), n + 1) as i:
            T.buffer_store(y, x[i % n], [i])

    kernel = build_kernel("one_too_many", [Parameter("x", (n,)), Parameter("y", (n,))], body)
    process = aarch64.AArch64Process([kernel], tmp_path / "kernels")
    arguments = [tvm.runtime.tensor(normal(5)), tvm.runtime.tensor(normal(5))]
    with pytest.raises(RuntimeError, match="beside argument 01"):
        process["one_too_many"](*arguments)
    process.close()
