"""One-dimensional resizing, by torch's rule for source positions, on lengths of any kind."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat, _emit, _symbolic
from tvm_kokoro_ext._compat import relax, te, tirx


def output_length(importer: Any, node: Any, length: Any, size: Any, scale: float | None) -> Any:
    """How long the result is: torch's proof where it can be expressed, else its formula."""
    proved = _symbolic.proved_shape(importer, node)
    if proved is not None:
        return proved[-1]
    if size is not None:
        return _compat.prim(size)
    assert scale is not None
    if isinstance(length, int):
        return math.floor(length * scale)
    if float(scale).is_integer():
        return length * int(scale)
    if float(1 / scale).is_integer():
        return tirx.floordiv(length, int(1 / scale))
    product = tirx.Cast("float64", length) * tirx.const(scale, "float64")
    return tirx.Cast("int64", tirx.floor(product))


def ratio(
    importer: Any, length: Any, out: Any, scale: float | None, align_corners: bool = False
) -> Any:
    """Input steps per output step as a 0-d float32 tensor, as torch computes it.

    A kernel of its own: TVM's integer analysis rejects a float quotient of two symbolic sizes
    that is bound to a variable, as common subexpressions are.
    """
    if align_corners:  # the ends meet; a single output element reads position 0
        steps = _emit.int64(out) - 1
        length, out = _emit.int64(length) - 1, tirx.max(steps, tirx.const(1, "int64"))
    elif scale is not None and scale > 0:
        return relax.const(1.0 / scale, "float32")
    if _compat.as_int(length) is not None and _compat.as_int(out) is not None:
        quotient = np.float32(_compat.as_int(length)) / np.float32(_compat.as_int(out))
        return relax.const(quotient, "float32")
    return _emit.scalar(importer, tirx.div(_float32(length), _float32(out)), "float32")


def _float32(value: Any) -> Any:
    return tirx.Cast("float32", value) if _compat.is_prim(value) else tirx.const(value, "float32")


def nearest(importer: Any, x: Any, out: Any, scale: float | None, exact: bool) -> Any:
    """upsample_nearest1d (exact=False) and _upsample_nearest_exact1d."""
    length = _compat.shape_of(x)[-1]
    if _same_length(length, out):
        return x
    step = ratio(importer, length, out, scale)

    def compute(data: Any, size: Any, step: Any) -> Any:
        offset = tirx.const(0.5 if exact else 0.0, "float32")

        def read(b: Any, c: Any, i: Any) -> Any:
            position = tirx.floor((tirx.Cast("float32", i) + offset) * step())
            return data[b, c, tirx.min(tirx.Cast("int64", position), data.shape[2] - 1)]

        return te.compute((*data.shape[:2], size), read, name="resize_nearest")

    return _emit.emit_te(importer, compute, x, _emit.int64(out), step, hint="resize_nearest")


def linear(importer: Any, x: Any, out: Any, scale: float | None, align_corners: bool) -> Any:
    """upsample_linear1d, half-pixel or with aligned corners."""
    dtype = _compat.dtype_of(x)
    step = ratio(importer, _compat.shape_of(x)[-1], out, scale, align_corners)

    def compute(data: Any, size: Any, step: Any) -> Any:
        last = data.shape[2] - 1
        zero, half = tirx.const(0.0, "float32"), tirx.const(0.5, "float32")
        one = tirx.const(1.0, dtype)

        def read(b: Any, c: Any, i: Any) -> Any:
            at = tirx.Cast("float32", i)
            position = at * step() if align_corners else (at + half) * step() - half
            position = tirx.max(position, zero)
            left = tirx.min(tirx.Cast("int64", tirx.floor(position)), last)
            weight = tirx.Cast(dtype, position - tirx.Cast("float32", left))
            right = tirx.min(left + 1, last)
            return data[b, c, left] * (one - weight) + data[b, c, right] * weight

        return te.compute((*data.shape[:2], size), read, name="resize_linear")

    return _emit.emit_te(importer, compute, x, _emit.int64(out), step, hint="resize_linear")


def _same_length(length: Any, out: Any) -> bool:
    return _compat.prim_equal(_emit.int64(length), _emit.int64(out))
