"""FFTs, for stft and istft as well.

For a symbolic length, the transform is computed by its definition in float64, with n² sines. torch
decomposes stft and istft into FFTs, reflecting pads, unfold and index_put.
"""

from __future__ import annotations

import math
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.complex import _complex, _fourier
from tvm_kokoro_ext._fixes.complex._complex import Complex


def _scale(normalization: int, length: int) -> float:
    """The factor of torch's fft_norm_mode: none, by the square root of n, by n."""
    return {0: 1.0, 1: 1 / math.sqrt(length), 2: 1 / length}[normalization]


def _length(x: Any, axis: int) -> Any:
    return _compat.shape_of(x)[axis]


def _by_definition(
    importer: Any, x: Any, axis: int, count: Any, length: Any, sine: int, halved: bool
) -> Any:
    """Σ_j w_j · x_j · cos(2π·i·j / length), for `count` values of i along `axis`.

    With `sine` 1 or -1, of the sine and its negative.

    w_j is 1; with `halved` (x is the first half of a symmetric spectrum) it is 2 except at the
    ends.
    """
    dtype, x = _compat.dtype_of(x), _swapped(importer, x, axis)
    function = tirx.sin if sine else tirx.cos

    def compute(data: Any, outputs: Any, period: Any) -> Any:
        j = te.reduce_axis((0, data.shape[-1]), name="j")

        def term(*at: Any) -> Any:
            place = tirx.Cast("int64", j)
            turn = tirx.floormod(tirx.Cast("int64", at[-1]) * place, period)
            share = tirx.Cast("float64", turn) / tirx.Cast("float64", period)
            value = tirx.Cast("float64", data(*at[:-1], j))
            if halved:
                end = tirx.any(place == 0, place * 2 == period)
                value = value * tirx.Select(end, _float(1), _float(2))
            wave = function(_float((sine or 1) * 2 * math.pi) * share)
            zero = tirx.floormod(turn * 4, period * 2) == (0 if sine else period)
            return te.sum(value * tirx.Select(zero, _float(0), wave), axis=j)

        shape = (*data.shape[:-1], outputs)
        sums = te.compute(shape, term, name="sums")
        return te.compute(shape, lambda *at: tirx.Cast(dtype, sums(*at)), name="dft")

    result = _emit.emit_te(
        importer, compute, x, _emit.int64(count), _emit.int64(length), hint="dft"
    )
    return _swapped(importer, result, axis)


def _float(value: float) -> Any:
    return tirx.const(value, "float64")


def _scaled(importer: Any, x: Any, normalization: int, length: Any) -> Any:
    """The tensor times torch's normalization factor for a symbolic length."""
    dtype = _compat.dtype_of(x)
    if normalization:
        size = _emit.scalar(importer, length, dtype)
        if normalization == 1:
            size = _emit.emit(importer, relax.op.sqrt(size))
        x = _emit.emit(importer, relax.op.divide(x, size))
    return x


def _swapped(importer: Any, x: Any, axis: int) -> Any:
    """The tensor with `axis` and its last axis exchanged."""
    order = list(range(_compat.rank_of(x)))
    if axis == order[-1]:
        return x
    order[axis], order[-1] = order[-1], axis
    return _emit.emit(importer, relax.op.permute_dims(x, order))


def _both_swapped(importer: Any, x: Complex, axis: int) -> Complex:
    return Complex(_swapped(importer, x.real, axis), _swapped(importer, x.imag, axis))


def r2c(importer: Any, node: Any, previous: Any) -> Any:
    x, axes, normalization, onesided = importer.retrieve_args(node)[:4]
    *others, last = (_emit.normalize_axis(axis, _compat.rank_of(x)) for axis in axes)
    length = _length(x, last)
    if not isinstance(length, int):
        count = tirx.floordiv(length, 2) + 1 if onesided else length
        parts = [
            _by_definition(importer, x, last, count, length, sine, halved=False) for sine in (0, -1)
        ]
        result = Complex(*(_scaled(importer, p, normalization, length) for p in parts))
        return _transform(importer, node, result, others, normalization, forward=True)
    count, scale = length // 2 + 1 if onesided else length, _scale(normalization, length)
    made = _fourier.of_real(importer, _swapped(importer, x, last), count=count, scale=scale)
    result = _both_swapped(importer, made, last)
    return _transform(importer, node, result, others, normalization, forward=True)


def c2c(importer: Any, node: Any, previous: Any) -> Any:
    x, axes, normalization, forward = importer.retrieve_args(node)[:4]
    x = _complex.of(importer, x)
    axes = [_emit.normalize_axis(axis, _compat.rank_of(x.real)) for axis in axes]
    return _transform(importer, node, x, axes, normalization, bool(forward))


def _transform(
    importer: Any, node: Any, x: Complex, axes: list[int], normalization: int, forward: bool
) -> Complex:
    for axis in axes:
        length = _length(x.real, axis)
        if not isinstance(length, int):
            x = _symbolic_transform(importer, x, axis, length, normalization, forward)
            continue
        scale, rows = _scale(normalization, length), _both_swapped(importer, x, axis)
        made = _fourier.transform(importer, rows, forward=forward, scale=scale)
        x = _both_swapped(importer, made, axis)
    return x


def _symbolic_transform(
    importer: Any, x: Complex, axis: int, length: Any, normalization: int, forward: bool
) -> Complex:
    def by(part: Any, sine: int) -> Any:
        return _by_definition(importer, part, axis, length, length, sine, halved=False)

    # (a + bi)·(cos ∓ i sin)
    inward, outward = relax.op.add, relax.op.subtract
    first, second = (inward, outward) if forward else (outward, inward)
    real = _emit.emit(importer, first(by(x.real, 0), by(x.imag, 1)))
    imag = _emit.emit(importer, second(by(x.imag, 0), by(x.real, 1)))
    return Complex(
        _scaled(importer, real, normalization, length),
        _scaled(importer, imag, normalization, length),
    )


def c2r(importer: Any, node: Any, previous: Any) -> Any:
    x, axes, normalization, size = importer.retrieve_args(node)[:4]
    x = _complex.of(importer, x)
    rank = _compat.rank_of(x.real)
    *others, last = (_emit.normalize_axis(axis, rank) for axis in axes)
    x = _transform(importer, node, x, others, normalization, forward=False)
    length = _compat.as_int(size)
    if length is None:
        size = _compat.prim(size)
        real = _by_definition(importer, x.real, last, size, size, sine=0, halved=True)
        imag = _by_definition(importer, x.imag, last, size, size, sine=1, halved=True)
        difference = _emit.emit(importer, relax.op.subtract(real, imag))
        return _scaled(importer, difference, normalization, size)
    rows, scale = _both_swapped(importer, x, last), _scale(normalization, length)
    return _swapped(importer, _fourier.to_real(importer, rows, length, scale=scale), last)


FIX = Fix(
    id="fft",
    what="FFTs, and with them stft and istft, are missing",
    op="aten._fft_r2c, aten._fft_c2r, aten._fft_c2c",
    affected="",
    converters={
        "_fft_r2c.default": r2c,
        "_fft_c2r.default": c2r,
        "_fft_c2c.default": c2c,
    },
    probe=_probe.lacks("_fft_r2c.default"),
)
