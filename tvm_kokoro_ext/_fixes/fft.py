"""FFTs of constant length as matrix products with exact trigonometric constants; stft and istft.

torch decomposes stft and istft into these, reflecting pads, unfold and index_put.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes import _complex
from tvm_kokoro_ext._fixes._complex import Complex


def _scale(normalization: int, length: int) -> float:
    """Torch's fft_norm_mode: none, by root of n, by n."""
    return {0: 1.0, 1: 1 / math.sqrt(length), 2: 1 / length}[normalization]


def _angles(rows: int, columns: int, length: int) -> np.ndarray:
    """2π·r·c/length, the product reduced modulo the length first: exact for any size."""
    products = np.outer(np.arange(rows), np.arange(columns)) % length
    return 2 * np.pi * products / length


def _length(node: Any, x: Any, axis: int) -> int:
    length = _compat.as_int(_compat.shape_of(x)[axis])
    if length is None:
        raise _emit.refuse(
            node, "the transformed axis has a symbolic length", "Frame the signal (torch.stft)"
        )
    return length


def _product(importer: Any, x: Any, matrix: np.ndarray, axis: int) -> Any:
    """x multiplied along `axis` by matrix [length, outputs]."""
    rank, dtype = _compat.rank_of(x), _compat.dtype_of(x)
    order = [a for a in range(rank) if a != axis] + [axis]
    constant = relax.const(matrix.astype(dtype), dtype)
    if axis != rank - 1:
        x = _emit.emit(importer, relax.op.permute_dims(x, order))
    result = _emit.emit(importer, relax.op.matmul(x, constant, out_dtype=dtype))
    if axis != rank - 1:
        back = [order.index(a) for a in range(rank)]
        result = _emit.emit(importer, relax.op.permute_dims(result, back))
    return result


def r2c(importer: Any, node: Any, previous: Any) -> Any:
    x, axes, normalization, onesided = importer.retrieve_args(node)[:4]
    *others, last = (_emit.normalize_axis(axis, _compat.rank_of(x)) for axis in axes)
    length = _length(node, x, last)
    angles = _angles(length, length // 2 + 1 if onesided else length, length)
    scale = _scale(normalization, length)
    result = Complex(
        _product(importer, x, scale * np.cos(angles), last),
        _product(importer, x, -scale * np.sin(angles), last),
    )
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
        length = _length(node, x.real, axis)
        angles = _angles(length, length, length)
        scale = _scale(normalization, length)
        cos, sin = scale * np.cos(angles), (-scale if forward else scale) * np.sin(angles)
        rr, ri = (_product(importer, x.real, m, axis) for m in (cos, sin))
        ir, ii = (_product(importer, x.imag, m, axis) for m in (cos, sin))
        x = Complex(
            _emit.emit(importer, relax.op.subtract(rr, ii)),
            _emit.emit(importer, relax.op.add(ri, ir)),
        )
    return x


def c2r(importer: Any, node: Any, previous: Any) -> Any:
    x, axes, normalization, size = importer.retrieve_args(node)[:4]
    x = _complex.of(importer, x)
    rank = _compat.rank_of(x.real)
    *others, last = (_emit.normalize_axis(axis, rank) for axis in axes)
    x = _transform(importer, node, x, others, normalization, forward=False)
    length = _compat.as_int(size)
    if length is None:
        raise _emit.refuse(node, "a symbolic length of the result", "Frame the signal")
    bins = length // 2 + 1
    weight = np.full((bins, 1), 2.0)
    weight[0] = 1.0
    if length % 2 == 0:
        weight[-1] = 1.0
    angles = _angles(bins, length, length)
    weight *= _scale(normalization, length)
    real = _product(importer, x.real, weight * np.cos(angles), last)
    imag = _product(importer, x.imag, weight * np.sin(angles), last)
    return _emit.emit(importer, relax.op.subtract(real, imag))


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
