"""Convolutions as a gather for each output element: any rank, and any number of groups.

Slower than TVM's own kernels, which lack transposed convolutions of volumes and take neither groups
of a symbolic number nor a symbolic stride, padding or dilation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fixes.linear_algebra.matmul import accumulation_dtype


@dataclass(frozen=True)
class Window:
    """How a kernel moves over the spatial axes; each attribute is a number, or one for each axis.

    All may be symbolic. `extra` is the padding of the output of a transposed convolution.
    """

    strides: Any
    padding: Any
    dilation: Any
    extra: Any = 0

    def axes(self, rank: int) -> list[tuple[Any, Any, Any, Any]]:
        """Stride, padding, dilation and extra of each of `rank` axes."""
        found = [_each(v, rank) for v in (self.strides, self.padding, self.dilation, self.extra)]
        return list(zip(*found, strict=True))


def _each(sizes: Any, rank: int) -> list[Any]:
    sizes = list(sizes) if isinstance(sizes, list | tuple) else [sizes]
    return sizes * rank if len(sizes) == 1 else sizes


def convolution(
    importer: Any, x: Any, weight: Any, bias: Any, window: Window, groups: Any, transposed: bool
) -> Any:
    """x [n, i, …], weight [o, i / groups, …], or transposed [i, o / groups, …] -> [n, o, …].

    In x's dtype; half precision is added up in float32 and rounded once, the bias included.
    `groups` and the numbers of the window may be expressions.
    """
    rank = _compat.rank_of(x) - 2
    axes = window.axes(rank)
    dtype = _compat.dtype_of(x)
    wide = accumulation_dtype(dtype)
    build = _transposed if transposed else _forward

    def compute(data: Any, kernel: Any, groups: Any, *given: Any) -> Any:
        symbolic = iter(given)
        known = []
        for axis in axes:
            stride, *others = (n if isinstance(n, int) else next(symbolic) for n in axis)
            # Sizes are computed before a stride of 0 is refused; until then the divisor is 1.
            known.append((stride if isinstance(stride, int) else tirx.max(stride, 1), *others))
        return build(data, kernel, groups, known, wide)

    symbolic = (number for axis in axes for number in axis if not isinstance(number, int))
    numbers = [_compat.prim_value(number) for number in (groups, *symbolic)]
    result = _emit.emit_te(importer, compute, x, weight, *numbers, hint="convolution")
    if bias is not None:
        column = _emit.emit(importer, relax.op.reshape(bias, [1, -1] + [1] * rank))
        column = _emit.astype(importer, column, wide)
        result = _emit.emit(importer, relax.op.add(result, column))
    return _emit.astype(importer, result, dtype)


def _share(channels: Any, groups: Any) -> Any:
    """The channels of each group; with 0 groups the divisor is taken as 1."""
    return tirx.floordiv(channels, tirx.max(groups, 1))


def _forward(data: Any, kernel: Any, groups: Any, axes: Sequence[Any], wide: str) -> Any:
    inputs, outputs = kernel.shape[1], _share(kernel.shape[0], groups)
    window = kernel.shape[2:]
    size = [
        tirx.floordiv(m + 2 * p - d * (k - 1) - 1, s) + 1
        for m, k, (s, p, d, _) in zip(data.shape[2:], window, axes, strict=True)
    ]
    channel = te.reduce_axis((0, inputs), name="channel")
    taps = [te.reduce_axis((0, k), name="tap") for k in window]

    def element(batch: Any, out: Any, *at: Any) -> Any:
        position = [i * s - p + t * d for i, t, (s, p, d, _) in zip(at, taps, axes, strict=True)]
        inside = [
            condition
            for place, m in zip(position, data.shape[2:], strict=True)
            for condition in (place >= 0, place < m)
        ]
        source = tirx.floordiv(out, tirx.max(outputs, 1)) * inputs + channel
        value = _product(data(batch, source, *position), kernel(out, channel, *taps), wide)
        return te.sum(_where(inside, value, wide), axis=[channel, *taps])

    return te.compute((data.shape[0], kernel.shape[0], *size), element, name="convolution")


def _transposed(data: Any, kernel: Any, groups: Any, axes: Sequence[Any], wide: str) -> Any:
    inputs, outputs = _share(data.shape[1], groups), kernel.shape[1]
    window = kernel.shape[2:]
    size = [
        (m - 1) * s - 2 * p + d * (k - 1) + e + 1
        for m, k, (s, p, d, e) in zip(data.shape[2:], window, axes, strict=True)
    ]
    channel = te.reduce_axis((0, inputs), name="channel")
    taps = [te.reduce_axis((0, k), name="tap") for k in window]

    def element(batch: Any, out: Any, *at: Any) -> Any:
        group = tirx.floordiv(out, outputs)
        inside, position = [], []
        for i, k, m, (s, p, d, _) in zip(at, taps, data.shape[2:], axes, strict=True):
            reach = i + p - k * d
            place = tirx.floordiv(reach, s)
            inside += [reach >= 0, tirx.floormod(reach, s) == 0, place < m]
            position.append(place)
        source = group * inputs + channel
        pixel = data(batch, source, *position)
        value = _product(pixel, kernel(source, out - group * outputs, *taps), wide)
        return te.sum(_where(inside, value, wide), axis=[channel, *taps])

    return te.compute((data.shape[0], outputs * groups, *size), element, name="conv_transpose")


def _product(pixel: Any, weight: Any, wide: str) -> Any:
    return tirx.Cast(wide, pixel) * tirx.Cast(wide, weight)


def _where(inside: Sequence[Any], value: Any, wide: str) -> Any:
    return tirx.if_then_else(tirx.all(*inside), value, tirx.const(0, wide))
