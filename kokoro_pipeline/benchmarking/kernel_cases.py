"""The kernels with the shapes of the model, and the amount of work of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import tirx

from ..compiler.kernels.common.builder import Parameter, T, build_kernel, i64
from ..compiler.kernels.common.convolutions import Conv1d, ConvTranspose1d
from ..compiler.kernels.common.producer import NOTHING, Producer
from ..compiler.kernels.cpu.adain import Activation, adain
from ..compiler.kernels.cpu.attention import attention
from ..compiler.kernels.cpu.conv1d import conv1d, pack_conv1d
from ..compiler.kernels.cpu.conv_transpose1d import conv_transpose1d, pack_conv_transpose1d
from ..compiler.kernels.cpu.fft_conv1d import fft_conv1d, fft_of, pack_fft_conv1d
from ..compiler.kernels.cpu.layer_norm import layer_norm
from ..compiler.kernels.cpu.linear import linear, pack_linear
from ..compiler.kernels.cpu.lstm import lstm_recurrence, pack_lstm_recurrent
from ..compiler.kernels.cpu.statistics import channel_statistics
from ..compiler.kernels.cpu.transform_conv1d import SameConv1d, Transform
from ..compiler.kernels.cpu.vector import VectorTarget
from ..compiler.kernels.cpu.winograd_conv1d import (
    pack_winograd_conv1d,
    winograd_conv1d,
    winograd_of,
)

PEAK_STEPS = 100_000
TOKENS = 60

Shape = tuple[int, ...]


Arguments = tuple[Shape | np.ndarray | int, ...]
"""Shapes of float32 tensors with arbitrary content, tensors, or numbers."""


@dataclass(frozen=True)
class KernelCase:
    """A kernel (a PrimFunc), its arguments and its work; the first two are created on demand.

    `flop` is the number of operations of the mathematical definition, where a multiply-add counts
    as two; `own_flop` is that of the algorithm's matrix products, if it is less; `bytes` is the
    minimum amount of memory traffic, for kernels that are limited by memory.
    """

    name: str
    function: Callable[[], Any]
    arguments: Callable[[], Arguments]
    flop: float = 0.0
    own_flop: float = 0.0
    bytes: float = 0.0


def peak_case(target: VectorTarget, threads: int) -> KernelCase:
    """A loop of multiply-adds in registers only, to measure the peak of this machine."""
    count = _peak_sums(target)

    def arguments() -> Arguments:
        steps = np.zeros(PEAK_STEPS, np.int64)
        return (2 * target.lanes,), steps, (threads, count * target.lanes)

    flop = 2.0 * threads * PEAK_STEPS * count * target.lanes
    return KernelCase("peak", lambda: _peak_kernel(target), arguments, flop, flop)


def kernel_cases(target: VectorTarget, frames: int) -> Iterator[KernelCase]:
    """All kernels with their sizes for `frames` frames (25 ms each) and 60 tokens."""
    low, high, pre = 20 * frames, 120 * frames + 1, 2 * frames
    fused = Producer(adain=True, activation=Activation.SNAKE)
    for channels, length in ((256, low), (128, high)):
        for taps, dilation in ((3, 1), (3, 5), (7, 1), (7, 5), (11, 1), (11, 5)):
            for producer in (NOTHING, fused):
                conv = SameConv1d(channels, channels, taps, producer, residual=producer is fused)
                yield _transformed(target, conv, length, dilation)
    for channels, length in ((1024, frames), (512, pre)):
        yield _transformed(target, SameConv1d(channels, channels, 3), length, 1)
    for channels, length in ((256, low), (128, high)):
        for taps, dilation in ((3, 1), (7, 3), (11, 5)):
            yield _direct(target, _same(channels, channels, taps, dilation), length)
    yield _direct(target, Conv1d(22, 256, 12, 6, 1, 3, 3), high)
    yield _direct(target, Conv1d(22, 128, 1), high)
    yield _direct(target, _same(128, 22, 7), high)
    for ci, co, length in (
        (514, 1024, frames),
        (1024, 1024, frames),
        (1090, 1024, frames),
        (1090, 512, pre),
        (512, 512, pre),
        (512, 256, pre),
        (1, 1, pre),
    ):
        yield _direct(target, _same(ci, co, 3), length)
    yield _direct(target, _same(512, 512, 5), TOKENS)
    yield _direct(target, Conv1d(512, 64, 1), frames)
    for features, outputs in ((768, 768), (768, 2048), (2048, 768), (640, 2048)):
        yield _linear(target, features, outputs, TOKENS)
    for features, outputs, rows in ((768, 2048, 5), (768, 2048, 1), (128, 512, 1)):
        yield _linear(target, features, outputs, rows)
    yield _transposed(target, ConvTranspose1d(512, 256, 20, 10, 5, 5), pre)
    yield _transposed(target, ConvTranspose1d(256, 128, 12, 6, 3, 3), low)
    yield _transposed(target, ConvTranspose1d(22, 1, 20, 5, 10, 10), high)
    yield _lstm(target)
    yield _attention(target, TOKENS)
    yield _attention(target, 512)
    yield from _elementwise(target, high)


def _transformed(target: VectorTarget, conv: SameConv1d, length: int, dilation: int) -> KernelCase:
    c, taps = conv.in_channels, conv.taps
    transform: Transform
    kernel: Callable[..., Any]
    pack: Callable[..., np.ndarray]
    if taps == 3:
        transform = winograd_of(c, c, taps)
        name = f"winograd F({transform.outputs}, {taps})"
        kernel, pack = winograd_conv1d, pack_winograd_conv1d
    else:
        transform = fft_of(c, c, taps)
        name = f"FFT {transform.window}"
        kernel, pack = fft_conv1d, pack_fft_conv1d
    adain_arguments: Arguments = ((1, c), (1, c), (c,), (c,), (1, 2 * c), (c,))
    rows = (1, length, c)

    def arguments() -> Arguments:
        produced = adain_arguments if conv.producer.adain else ()
        residual = (rows,) if conv.residual else ()
        return rows, *produced, pack(target, _draw(c, c, taps)), *residual, dilation, rows

    return KernelCase(
        f"{name}, {c}->{c} k{taps} d{dilation}, {length} rows"
        + (", AdaIN + Snake + residual" if conv.residual else ""),
        lambda: kernel(target, conv),
        arguments,
        flop=2.0 * c * c * taps * length,
        own_flop=2.0 * c * c * transform.multiplications * length / transform.outputs,
    )


def _direct(target: VectorTarget, conv: Conv1d, length: int) -> KernelCase:
    ci, co, taps, out = (
        conv.in_channels,
        conv.out_channels,
        conv.taps,
        conv.out_length(length),
    )
    return KernelCase(
        f"conv1d {ci}->{co} k{taps} s{conv.stride} d{conv.dilation}, {length} rows",
        lambda: conv1d(target, conv),
        lambda: ((1, length, ci), pack_conv1d(target, _draw(co, ci, taps)), (1, out, co)),
        flop=2.0 * ci * co * taps * out,
    )


def _linear(target: VectorTarget, features: int, outputs: int, rows: int) -> KernelCase:
    def arguments() -> Arguments:
        packed = pack_linear(target, _draw(outputs, features))
        return (rows, features), packed, (rows, outputs)

    return KernelCase(
        f"linear {features}->{outputs}, {rows} rows",
        lambda: linear(target, features, outputs),
        arguments,
        flop=2.0 * features * outputs * rows,
        bytes=4.0 * features * outputs if rows == 1 else 0.0,
    )


def _transposed(target: VectorTarget, up: ConvTranspose1d, length: int) -> KernelCase:
    ci, co = up.in_channels, up.out_channels

    def arguments() -> Arguments:
        packed = pack_conv_transpose1d(target, _draw(ci, co, up.taps), up.stride)
        return (1, length, ci), packed, (1, up.out_length(length), co)

    return KernelCase(
        f"conv_transpose1d {ci}->{co} k{up.taps} s{up.stride}, {length} rows",
        lambda: conv_transpose1d(target, up),
        arguments,
        flop=2.0 * ci * co * up.taps * length,
    )


def _lstm(target: VectorTarget) -> KernelCase:
    def arguments() -> Arguments:
        packed = pack_lstm_recurrent(target, _draw(2, 1024, 256) * np.float32(0.06))
        return (1, TOKENS, 2048), packed, np.array([TOKENS]), (1, TOKENS, 512)

    return KernelCase(
        f"lstm 256, {TOKENS} steps, both directions",
        lambda: lstm_recurrence(target, 256),
        arguments,
        flop=2.0 * TOKENS * 2 * 1024 * 256,
        bytes=4.0 * TOKENS * 2 * 1024 * 256,
    )


def _attention(target: VectorTarget, tokens: int) -> KernelCase:
    rows = (1, tokens, 768)
    return KernelCase(
        f"attention 12 x 64, {tokens} tokens",
        lambda: attention(target, 12, 64),
        lambda: (rows, rows, rows, np.array([tokens]), rows),
        flop=4.0 * tokens * tokens * 768,
    )


def _elementwise(target: VectorTarget, rows: int) -> Iterator[KernelCase]:
    """The kernels that are limited by memory."""
    values, channels = (1, rows, 128), (1, 128)
    size = 4.0 * rows * 128
    yield KernelCase(
        f"channel_statistics 128, {rows} rows",
        lambda: channel_statistics(target, 128, 1e-5),
        lambda: (values, channels, channels),
        bytes=size,
    )
    yield KernelCase(
        f"AdaIN + Snake 128, {rows} rows",
        lambda: adain(target, 128, Activation.SNAKE),
        lambda: (values, channels, channels, (128,), (128,), (1, 256), (128,), values),
        bytes=2 * size,
    )
    yield KernelCase(
        f"layer_norm 768, {TOKENS} rows",
        lambda: layer_norm(target, 768, 1e-12),
        lambda: ((TOKENS, 768), (768,), (768,), (TOKENS, 768)),
        bytes=8.0 * TOKENS * 768,
    )


def _same(ci: int, co: int, taps: int, dilation: int = 1) -> Conv1d:
    """A convolution with as many output as input rows."""
    return Conv1d(ci, co, taps, 1, dilation, taps // 2 * dilation, taps // 2 * dilation)


def _draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def _peak_sums(target: VectorTarget) -> int:
    """Number of independent sums: enough to hide latency, and few enough for the registers."""
    return 24 if target.registers >= 32 else 12


def _peak_kernel(target: VectorTarget) -> Any:
    """`tasks` times `_peak_sums` sums of `steps` multiply-adds; shapes encode both numbers."""
    steps, tasks = tirx.Var("steps", "int64"), tirx.Var("tasks", "int64")
    count = _peak_sums(target)

    def body(x: Any, _steps: Any, y: Any) -> None:
        with T.parallel(i64(0), tasks) as task:
            sums = T.alloc_buffer((count * target.lanes,), "float32", scope="local")
            factor = T.bind(target.load(x, i64(0)))
            term = T.bind(target.load(x, i64(target.lanes)))
            for i in range(count):
                target.store(sums, i64(i * target.lanes), term)
            with T.serial(i64(0), steps):
                for i in range(count):
                    at = i64(i * target.lanes)
                    target.store(sums, at, target.load(sums, at) * factor + term)
            for i in range(count):
                target.store(
                    y, (task * count + i) * target.lanes, target.load(sums, i64(i * target.lanes))
                )

    parameters = [
        Parameter("x", (2 * target.lanes,)),
        Parameter("steps", (steps,), "int64"),
        Parameter("y", (tasks, count * target.lanes)),
    ]
    return build_kernel("peak", parameters, body)
