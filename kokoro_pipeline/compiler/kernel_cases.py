"""The kernels with the shapes of the model, and the amount of work of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tvm import tirx

from .kernels.common.bfloat16_parts import Parts
from .kernels.common.builder import Parameter, T, build_kernel, f32, i64
from .kernels.common.convolutions import Conv1d, ConvTranspose1d
from .kernels.common.producer import NOTHING, Producer
from .kernels.cpu.adain import Activation, adain
from .kernels.cpu.core import Core
from .kernels.cpu.tile_conv1d import Multiplication
from .kernels.cpu.tile_unit import (
    COLUMNS,
    FIRST_COLUMNS,
    FIRST_ROWS,
    ROWS,
    SUMS,
    TERMS,
    TileUnit,
)
from .kernels.cpu.vector import VectorTarget
from .lowering.backend import Fusion, Kernel
from .lowering.cpu_backend import CpuBackend

PEAK_STEPS = 100_000
TILE_STEPS = 100_000
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


def kernel_cases(
    target: VectorTarget, frames: int, core: Core | None = None
) -> Iterator[KernelCase]:
    """All kernels with their sizes for `frames` frames (25 ms each) and 60 tokens.

    Algorithms are those for the core.
    """
    direct, fast = (CpuBackend(fused, target, core=core or Core()) for fused in (False, True))
    low, high, pre = 20 * frames, 120 * frames + 1, 2 * frames
    fused = Producer(adain=True, activation=Activation.SNAKE)
    for channels, length in ((256, low), (128, high)):
        for taps, dilation in ((3, 1), (3, 5), (7, 1), (7, 5), (11, 1), (11, 5)):
            for producer in (NOTHING, fused):
                conv = _same(channels, channels, taps, dilation)
                yield _transformed(fast, conv, length, producer)
    for channels, length in ((1024, frames), (512, pre)):
        yield _transformed(fast, _same(channels, channels, 3), length, NOTHING)
    for channels, length in ((256, low), (128, high)):
        for taps, dilation in ((3, 1), (7, 3), (11, 5)):
            yield _direct(direct, _same(channels, channels, taps, dilation), length)
    yield _direct(direct, Conv1d(22, 256, 12, 6, 1, 3, 3), high)
    yield _direct(direct, Conv1d(22, 128, 1), high)
    yield _direct(direct, _same(128, 22, 7), high)
    for ci, co, length in (*_wide(frames), (512, 256, pre), (1, 1, pre)):
        yield _direct(direct, _same(ci, co, 3), length)
    yield _direct(direct, _same(512, 512, 5), TOKENS)
    yield _direct(direct, Conv1d(512, 64, 1), frames)
    for k, n in ((768, 768), (768, 2048), (2048, 768), (640, 2048)):
        yield _linear(direct, k, n, TOKENS)
    for k, n, rows in ((768, 2048, 5), (768, 2048, 1), (128, 512, 1)):
        yield _linear(direct, k, n, rows)
    yield _transposed(direct, ConvTranspose1d(512, 256, 20, 10, 5, 5), pre)
    yield _transposed(direct, ConvTranspose1d(256, 128, 12, 6, 3, 3), low)
    yield _transposed(direct, ConvTranspose1d(22, 1, 20, 5, 10, 10), high)
    yield _case(
        f"lstm 256, {TOKENS} steps, both directions",
        direct.lstm_recurrence(256),
        ((1, TOKENS, 2048),),
        (np.array([TOKENS]), (1, TOKENS, 512)),
        lambda: _draw(2, 1024, 256) * np.float32(0.06),
        flop=2.0 * TOKENS * 2 * 1024 * 256,
        bytes=4.0 * TOKENS * 2 * 1024 * 256,
    )
    for tokens in (TOKENS, 512):
        shape = (1, tokens, 768)
        name, flop = f"attention 12 x 64, {tokens} tokens", 4.0 * tokens * tokens * 768
        lengths = np.array([tokens])
        yield _case(
            name, direct.attention(12, 64), (shape, shape, shape, lengths, shape), flop=flop
        )
    # Those that are limited by memory.
    values, moment, size = (1, high, 128), (1, 128), 4.0 * high * 128
    name = f"channel_statistics 128, {high} rows"
    yield _case(name, direct.statistics(128, 1e-5), (values, moment, moment), bytes=size)
    vectors: Arguments = (moment, moment, (128,), (128,), (1, 256), (128,))
    kernel = Kernel(adain, (target, 128, Activation.SNAKE))
    name = f"AdaIN + Snake 128, {high} rows"
    yield _case(name, kernel, (values, *vectors, values), bytes=2 * size)
    table = TOKENS, 768
    shapes: Arguments = (table, table, (768,), (768,), table)
    name = f"layer_norm of a sum 768, {TOKENS} rows"
    yield _case(
        name, direct.layer_norm(768, 1e-12, 2, rounding=False), shapes, bytes=12.0 * TOKENS * 768
    )


def tile_cases(target: VectorTarget, frames: int) -> Iterator[KernelCase]:
    """The kernels on the tiles of AMX with three products, and the peak of single products."""
    three = Multiplication(Parts.TWO, TileUnit.AMX)
    backend = CpuBackend(True, target, three.unit, multiplication=three)
    low, high, pre = 20 * frames, 120 * frames + 1, 2 * frames
    flop = 2.0 * TILE_STEPS * SUMS * ROWS * COLUMNS * TERMS
    yield KernelCase("AMX peak of one product, one thread", _tile_peak, lambda: ((16,),), flop)

    def cases() -> Iterator[KernelCase]:
        for channels, length in ((256, low), (128, high)):
            for taps, dilation in ((3, 1), (7, 3), (11, 5)):
                for producer in (NOTHING, Producer(adain=True, activation=Activation.SNAKE)):
                    conv = _same(channels, channels, taps, dilation)
                    yield _fused(backend, conv, length, producer, "conv1d")
        for ci, co, length in _wide(frames):
            yield _direct(backend, _same(ci, co, 3), length)
        yield _direct(backend, _same(128, 22, 7), high)
        yield _transposed(backend, ConvTranspose1d(512, 256, 20, 10, 5, 5), pre)
        yield _transposed(backend, ConvTranspose1d(256, 128, 12, 6, 3, 3), low)
        yield _linear(backend, 512, 2048, TOKENS)
        yield _linear(backend, 128, 512, 1)

    for case in cases():
        yield replace(case, name=f"AMX, three products, {case.name}")


def _tile_peak() -> Any:
    """Products of tiles that lie in registers, on the calling thread."""

    def body(y: Any) -> None:
        tiles = TileUnit.AMX.tiles()
        tiles.configure()
        with T.serial(i64(0), i64(TILE_STEPS)):
            for tile in range(SUMS):
                tiles.product(tile, FIRST_ROWS + tile // 2, FIRST_COLUMNS + tile % 2)
        tiles.release()
        T.buffer_store(y, f32(0), [i64(0)])

    return build_kernel("tile_peak", [Parameter("y", (16,))], body)


def _wide(frames: int) -> tuple[tuple[int, int, int], ...]:
    """Input channels, output channels and rows of the convolutions of many channels, of 3 taps."""
    upsampled = 2 * frames
    return (
        (514, 1024, frames),
        (1024, 1024, frames),
        (1090, 1024, frames),
        (1090, 512, upsampled),
        (512, 512, upsampled),
    )


def _case(
    name: str,
    kernel: Kernel,
    before: Arguments,
    after: Arguments = (),
    weight: Callable[[], np.ndarray] | None = None,
    **work: float,
) -> KernelCase:
    """A kernel with its arguments before and after the packed weight, if it has one."""

    def arguments() -> Arguments:
        if kernel.pack is None or weight is None:
            return before
        return *before, kernel.pack(weight()), *after

    return KernelCase(name, lambda: kernel.make(*kernel.static), arguments, **work)


def _transformed(backend: CpuBackend, conv: Conv1d, length: int, producer: Producer) -> KernelCase:
    c, transform = conv.in_channels, backend.algorithm(conv, length).transform
    if transform is None:
        return _fused(backend, conv, length, producer, "conv1d")
    own_flop = 2.0 * c * c * transform.multiplications * length / transform.outputs
    return _fused(backend, conv, length, producer, transform.title, own_flop)


def _fused(
    backend: CpuBackend,
    conv: Conv1d,
    length: int,
    producer: Producer,
    name: str,
    own_flop: float = 0.0,
) -> KernelCase:
    """A convolution with as many outputs as inputs; with a producer it also adds a residual."""
    c, taps = conv.in_channels, conv.taps
    fusion = Fusion(producer, residual=producer.adain, rows=length)
    kernel = backend.conv1d(conv, fusion, "float32")
    coefficients: Arguments = ((1, c), (1, c), (c,), (c,), (1, 2 * c), (c,))
    rows = (1, length, c)
    return _case(
        f"{name} {c}->{c} k{taps} d{conv.dilation}, {length} rows"
        + (", AdaIN + Snake + residual" if producer.adain else ""),
        kernel,
        (rows, *(coefficients if producer.adain else ())),
        (*((rows,) if producer.adain else ()), *kernel.numbers, rows),
        lambda: _draw(c, c, taps),
        flop=2.0 * c * c * taps * length,
        own_flop=own_flop,
    )


def _direct(backend: CpuBackend, conv: Conv1d, length: int) -> KernelCase:
    ci, co, taps, out = conv.in_channels, conv.out_channels, conv.taps, conv.out_length(length)
    return _case(
        f"conv1d {ci}->{co} k{taps} s{conv.stride} d{conv.dilation}, {length} rows",
        backend.conv1d(conv, Fusion(), "float32"),
        ((1, length, ci),),
        ((1, out, co),),
        lambda: _draw(co, ci, taps),
        flop=2.0 * ci * co * taps * out,
    )


def _linear(backend: CpuBackend, features: int, outputs: int, rows: int) -> KernelCase:
    return _case(
        f"linear {features}->{outputs}, {rows} rows",
        backend.linear(features, outputs, bias=False),
        ((rows, features),),
        ((rows, outputs),),
        lambda: _draw(outputs, features),
        flop=2.0 * features * outputs * rows,
        bytes=4.0 * features * outputs if rows == 1 else 0.0,
    )


def _transposed(backend: CpuBackend, up: ConvTranspose1d, length: int) -> KernelCase:
    ci, co = up.in_channels, up.out_channels
    return _case(
        f"conv_transpose1d {ci}->{co} k{up.taps} s{up.stride}, {length} rows",
        backend.conv_transpose1d(up, bias=False),
        ((1, length, ci),),
        ((1, up.out_length(length), co),),
        lambda: _draw(ci, co, up.taps),
        flop=2.0 * ci * co * up.taps * length,
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
