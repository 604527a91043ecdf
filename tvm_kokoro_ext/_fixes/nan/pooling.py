"""max_pool with NaN.

float32 and float64 are compared as they are, beside a question for NaN. Half precision goes through
stock's pooling of integer keys, converted back.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import relax, te, tirx, topi
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import extremum
from tvm_kokoro_ext._fixes._shared.legalization import overriding


def pool(below: Any, builder: Any, call: Any) -> Any:
    """relax.nn.max_pool1d, 2d or 3d, for any layout."""
    dtype = _compat.dtype_of(call.args[0])
    if dtype not in extremum.FLOATS or call.attrs.out_layout != call.attrs.layout:
        return below(builder, call)
    if dtype in ("float32", "float64") and not set(call.attrs.layout) & set("dhw"):
        shape = [_emit.int64(size) for size in _compat.shape_of(call)]
        pooled = _pooled(call.attrs)
        return builder.call_te(pooled, call.args[0], shape, primfunc_name_hint="max_pool")
    return _by_keys(below, builder, call, dtype)


def _pooled(attrs: Any) -> Any:
    """The tensor expression of a max_pool with these attributes and a shape of the result.

    With `ceil_mode`, no window begins behind the tensor and the padding in front of it, so that the
    shape does not follow from the sizes alone.
    """
    layout = str(attrs.layout)
    axes = [layout.index(letter) for letter in "DHW" if letter in layout]
    sizes, strides, dilation, padding = (
        [int(number) for number in values]
        for values in (attrs.pool_size, attrs.strides, attrs.dilation, attrs.padding)
    )
    ahead, behind = padding[: len(axes)], padding[len(axes) :]
    if attrs.ceil_mode:
        behind = [amount + stride - 1 for amount, stride in zip(behind, strides, strict=True)]
    windows = [_Window(*each) for each in zip(axes, sizes, strides, dilation, strict=True)]
    # One axis after the other is less work for large windows, and one pass for small ones.
    stages = [windows] if math.prod(sizes) <= _SMALL else [[window] for window in windows[::-1]]

    def max_pool(x: Any, out: Any) -> Any:
        before, after = [0] * len(x.shape), [0] * len(x.shape)
        for number, axis in enumerate(axes):
            before[axis], after[axis] = ahead[number], behind[number]
        if any(before) or any(after):
            lowest = tirx.const(-math.inf, x.dtype)
            x = topi.nn.pad(x, before, after, pad_value=lowest, name="padded")
        for stage in stages:
            x = _largest_of_windows(x, stage, out)
        return x

    return max_pool


class _Window(NamedTuple):
    """The window along one axis."""

    axis: int
    size: int
    stride: int
    dilation: int


_SMALL = 9  # elements of a window
_WRITTEN_OUT = 16


def _largest_of_windows(x: Any, windows: Sequence[_Window], out: Sequence[Any]) -> Any:
    """The largest number of each window, or NaN if there is one; of equal zeros the first."""
    shape = list(x.shape)
    for window in windows:
        shape[window.axis] = out[window.axis]
    within = [te.reduce_axis((0, window.size), name=f"r{window.axis}") for window in windows]

    def read(at: Sequence[Any], offsets: Sequence[Any]) -> Any:
        place = list(at)
        for window, offset in zip(windows, offsets, strict=True):
            place[window.axis] = at[window.axis] * window.stride + offset * window.dilation
        return x(*place)

    def written_out(*at: Any) -> Any:
        offsets = itertools.product(*(range(window.size) for window in windows))
        numbers = [read(at, offset) for offset in offsets]
        return tirx.Select(
            tirx.any(*map(extremum.is_nan, numbers)),
            tirx.const(math.nan, x.dtype),
            # TVM's max(a, b) is `a > b ? a : b`, which keeps the first of equal zeros if it is b.
            functools.reduce(lambda largest, number: tirx.max(number, largest), numbers),
        )

    def reduced(*at: Any) -> Any:
        return _LARGEST(read(at, within), axis=within)

    small = math.prod(window.size for window in windows) <= _WRITTEN_OUT
    return te.compute(tuple(shape), written_out if small else reduced, name="max_pool")


_LARGEST = te.comm_reducer(
    lambda largest, x: tirx.Select(extremum.is_nan(x), x, tirx.Select(x > largest, x, largest)),
    lambda dtype: tirx.const(-math.inf, dtype),
    name="largest",
)


def _by_keys(below: Any, builder: Any, call: Any, dtype: str) -> Any:
    def to_keys(x: Any) -> Any:
        return te.compute(x.shape, lambda *at: extremum.key(x(*at), largest=True), name="key")

    def to_numbers(keys: Any) -> Any:
        return te.compute(
            keys.shape, lambda *at: extremum.number(keys(*at), dtype), name="max_pool"
        )

    keys = builder.emit(builder.call_te(to_keys, call.args[0], primfunc_name_hint="key"))
    pooled = builder.normalize(relax.Call(call.op, [keys], call.attrs))
    pooled = builder.emit(below(builder, pooled))
    return builder.call_te(to_numbers, pooled, primfunc_name_hint="max_pool")


def _still_wrong() -> bool:
    return not extremum.keeps_nan(lambda x: relax.op.nn.max_pool1d(x, [2], [2]), (1, 1, 2))


FIX = Fix(
    id="nan_pool",
    what="max_pool drops NaN",
    op="relax.nn.max_pool1d, relax.nn.max_pool2d, relax.nn.max_pool3d",
    affected="",
    install=overriding({f"relax.nn.max_pool{rank}d": pool for rank in (1, 2, 3)}),
    probe=_still_wrong,
    needs_torch=False,
)
