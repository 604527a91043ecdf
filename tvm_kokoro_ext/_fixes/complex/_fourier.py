"""Fourier transforms of the last axis, whose length is a number: in stages, or by a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fixes.complex import _stages
from tvm_kokoro_ext._fixes.complex._complex import Complex


def transform(importer: Any, x: Complex, *, forward: bool, scale: float) -> Complex:
    """Σ_j x_j · e^(∓2πi·j·k/n) times `scale`, with the minus sign if `forward`."""
    length = int(_compat.shape_of(x.real)[-1])
    if _stages.are_for(length):
        return _stages.transform(importer, x, forward=forward, scale=scale)
    cos, sin = _waves(length, length, length)
    matrices = scale * cos, (-scale if forward else scale) * sin
    rr, ri = (_product(importer, x.real, matrix) for matrix in matrices)
    ir, ii = (_product(importer, x.imag, matrix) for matrix in matrices)
    return Complex(
        _emit.emit(importer, relax.op.subtract(rr, ii)),
        _emit.emit(importer, relax.op.add(ri, ir)),
    )


def of_real(importer: Any, x: Any, *, count: int, scale: float) -> Complex:
    """The first `count` elements of the forward transform of a real tensor, times `scale`."""
    length = int(_compat.shape_of(x)[-1])
    if _stages.are_for(length):
        return _stages.of_real(importer, x, count=count, scale=scale)
    cos, sin = _waves(length, count, length)
    return Complex(_product(importer, x, scale * cos), _product(importer, x, -scale * sin))


def to_real(importer: Any, x: Complex, length: int, *, scale: float) -> Any:
    """The inverse transform, [..., length], of the half spectrum of a real tensor, times `scale`.

    `x` has the shape [..., length // 2 + 1]. The imaginary parts of the ends of the spectrum,
    which real numbers do not have, are ignored.
    """
    if _stages.are_for(length):
        return _stages.to_real(importer, x, length, scale=scale)
    bins = length // 2 + 1
    weight = np.full((bins, 1), 2.0 * scale)
    weight[0] = scale
    if length % 2 == 0:
        weight[-1] = scale
    cos, sin = _waves(bins, length, length)
    real = _product(importer, x.real, weight * cos)
    imag = _product(importer, x.imag, weight * sin)
    return _emit.emit(importer, relax.op.subtract(real, imag))


def _waves(rows: int, columns: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """The cosines and sines of 2π·r·c/length."""
    return _stages.turns(np.outer(np.arange(rows), np.arange(columns)), length)


def _product(importer: Any, x: Any, matrix: np.ndarray) -> Any:
    """x multiplied along its last axis by matrix [length, outputs]."""
    dtype = _compat.dtype_of(x)
    constant = relax.const(matrix.astype(dtype), dtype)
    return _emit.emit(importer, relax.op.matmul(x, constant, out_dtype=dtype))
