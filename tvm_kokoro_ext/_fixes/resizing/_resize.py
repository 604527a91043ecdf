"""Nearest, linear and cubic resizing, one axis at a time, by torch's rule for source positions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat, _emit, _symbolic
from tvm_kokoro_ext._compat import relax, te, tirx


def output_sizes(
    importer: Any, node: Any, sizes: Sequence[Any], given: Any, scales: Sequence[float | None]
) -> list[Any]:
    """The output sizes: those proved by torch if they can be expressed, else by its formula."""
    proved = _symbolic.proved_shape(importer, node)
    if proved is not None:
        return proved[-len(sizes) :]
    if given is not None:
        return [_compat.prim(size) for size in given]
    return [_scaled(size, scale) for size, scale in zip(sizes, scales, strict=True)]


def _scaled(length: Any, scale: float | None) -> Any:
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
    importer: Any,
    length: Any,
    out: Any,
    scale: float | None,
    align_corners: bool = False,
    *,
    dtype: str = "float32",
    unscaled: Sequence[int] = (),
) -> Any:
    """Input steps per output step as a 0-d tensor, computed like in torch.

    `unscaled`: multiples of the length for which torch does not read the scale. This is a separate
    kernel because TVM's integer analysis rejects a float quotient of two symbolic sizes that is
    bound to a variable, which happens to common subexpressions.
    """
    if align_corners:  # the ends meet; a single output element reads position 0
        steps = _emit.int64(out) - 1
        length, out = _emit.int64(length) - 1, tirx.max(steps, tirx.const(1, "int64"))
    elif scale is not None and scale > 0:
        if not unscaled:
            return relax.const(1.0 / scale, dtype)
        step: Any = tirx.const(1.0 / scale, dtype)
        for multiple in unscaled:
            same = tirx.EQ(_emit.int64(out), _emit.int64(length) * multiple)
            step = tirx.Select(same, tirx.const(1.0 / multiple, dtype), step)
        return _emit.scalar(importer, step, dtype)
    if _compat.as_int(length) is not None and _compat.as_int(out) is not None:
        number = np.dtype(dtype).type
        return relax.const(number(_compat.as_int(length)) / number(_compat.as_int(out)), dtype)
    return _emit.scalar(importer, tirx.div(_float(length, dtype), _float(out, dtype)), dtype)


def _float(value: Any, dtype: str) -> Any:
    return tirx.Cast(dtype, value) if _compat.is_prim(value) else tirx.const(value, dtype)


def nearest(importer: Any, x: Any, axis: int, out: Any, scale: float | None, exact: bool) -> Any:
    """One axis of upsample_nearest (exact=False) and _upsample_nearest_exact."""
    length = _compat.shape_of(x)[axis]
    # In two dimensions torch does not read the scale if a length is unchanged or doubled.
    unscaled = (1, 2) if _compat.rank_of(x) == 4 and not exact else ()
    if _same_length(length, out) and (scale is None or 1 in unscaled):
        return x
    step = ratio(importer, length, out, scale, unscaled=unscaled)

    def compute(data: Any, size: Any, step: Any) -> Any:
        offset = tirx.const(0.5 if exact else 0.0, "float32")

        def read(*at: Any) -> Any:
            position = tirx.floor((tirx.Cast("float32", at[axis]) + offset) * step())
            source = tirx.min(tirx.Cast("int64", position), data.shape[axis] - 1)
            return data(*at[:axis], source, *at[axis + 1 :])

        return te.compute(_resized(data.shape, axis, size), read, name="resize_nearest")

    return _emit.emit_te(importer, compute, x, _emit.int64(out), step, hint="resize_nearest")


def linear(
    importer: Any, x: Any, axis: int, out: Any, scale: float | None, align_corners: bool
) -> Any:
    """One axis of upsample_linear, half-pixel or with aligned corners.

    Torch does not read the scale if the length is unchanged. x is float32 or float64.
    """
    length = _compat.shape_of(x)[axis]
    if _same_length(length, out):
        return x
    dtype = _compat.dtype_of(x)
    step = ratio(importer, length, out, scale, align_corners, dtype=dtype, unscaled=(1,))

    def compute(data: Any, size: Any, step: Any) -> Any:
        last = data.shape[axis] - 1
        zero, one = (tirx.const(number, dtype) for number in (0.0, 1.0))

        def read(*at: Any) -> Any:
            position = _position(at[axis], step(), align_corners, dtype)
            position = tirx.max(position, zero)
            left = tirx.min(tirx.Cast("int64", tirx.floor(position)), last)
            weight = position - tirx.Cast(dtype, left)
            near, far = (
                data(*at[:axis], source, *at[axis + 1 :])
                for source in (left, tirx.min(left + 1, last))
            )
            return near * (one - weight) + far * weight

        return te.compute(_resized(data.shape, axis, size), read, name="resize_linear")

    return _emit.emit_te(importer, compute, x, _emit.int64(out), step, hint="resize_linear")


def _position(index: Any, step: Any, align_corners: bool, dtype: str) -> Any:
    """Where a pixel of the result lies in the original, by the distance of two pixels there."""
    to, half = tirx.Cast(dtype, index), tirx.const(0.5, dtype)
    return to * step if align_corners else (to + half) * step - half


def cubic(
    importer: Any, x: Any, axis: int, out: Any, scale: float | None, align_corners: bool
) -> Any:
    """One axis of upsample_bicubic: four weighted pixels, of which the outermost repeat.

    x is float32 or float64. Torch reads the scale for an unchanged length too.
    """
    length = _compat.shape_of(x)[axis]
    if _same_length(length, out) and (scale is None or align_corners):
        return x
    dtype = _compat.dtype_of(x)
    step = ratio(importer, length, out, scale, align_corners, dtype=dtype)

    def compute(data: Any, size: Any, step: Any) -> Any:
        last = data.shape[axis] - 1
        zero, one = (tirx.const(number, dtype) for number in (0.0, 1.0))

        def read(*at: Any) -> Any:
            position = _position(at[axis], step(), align_corners, dtype)
            left = tirx.floor(position)
            past = tirx.min(tirx.max(position - left, zero), one)
            first = tirx.Cast("int64", left) - 1
            total: Any = zero
            for place, weight in enumerate(_cubic_weights(past)):
                source = tirx.min(tirx.max(first + place, tirx.const(0, "int64")), last)
                total = total + data(*at[:axis], source, *at[axis + 1 :]) * weight
            return total

        return te.compute(_resized(data.shape, axis, size), read, name="resize_cubic")

    return _emit.emit_te(importer, compute, x, _emit.int64(out), step, hint="resize_cubic")


def _cubic_weights(past: Any) -> list[Any]:
    """Of the four pixels around a position, which lies so far past the second (from 0 to 1)."""
    a = -0.75

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(past + 1), near(past), near(1 - past), far(2 - past)]


def _resized(shape: Sequence[Any], axis: int, size: Any) -> tuple[Any, ...]:
    return (*shape[:axis], size, *shape[axis + 1 :])


def _same_length(length: Any, out: Any) -> bool:
    return _compat.prim_equal(_emit.int64(length), _emit.int64(out))
