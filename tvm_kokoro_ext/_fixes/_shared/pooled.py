"""Max pooling with the places of the maxima, as one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import T, tirx
from tvm_kokoro_ext._fixes._shared import loops


def with_places(
    importer: Any,
    x: Any,
    out: Sequence[Any],
    window: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    *,
    of_all: bool = False,
    columns: bool = False,
) -> list[Any]:
    """Values and their int64 places for each window; the last axes of `x` are those of a window.

    `out` are the sizes of the results, and `padding` is that before each axis. The first of equal
    values wins, and NaN wins over numbers. A place is the offset in the plane of the last axes, or
    in the whole of `x` (`of_all`), with the first axis of the plane varying fastest (`columns`).
    """
    axes = len(window)
    shape, dtype = [_emit.int64(d) for d in _compat.shape_of(x)], _compat.dtype_of(x)
    lowest = -tirx.infinity(dtype) if "float" in dtype else tirx.min_value(dtype)

    def place(row: Any, position: Sequence[Any], plane: Sequence[Any]) -> Any:
        order = -1 if columns else 1
        within = loops.flat(position[::order], plane[::order])
        return row * _emit.extent(plane) + within if of_all else within

    def body(dims: Any, values: Any, places: Any, data: Any, *extents: Any) -> None:
        plane = list(extents[-axes:])
        with (
            T.serial(0, _emit.extent(dims[0][:-axes])) as row,
            loops.grid(*dims[0][-axes:]) as spot,
        ):
            at = (row * _emit.extent(dims[0][-axes:])) + loops.flat(spot, dims[0][-axes:])
            start = [i * s - p for i, s, p in zip(spot, stride, padding, strict=True)]
            first = [
                tirx.if_then_else(b < 0, b + tirx.floordiv(-b + d - 1, d) * d, b)
                for b, d in zip(start, dilation, strict=True)
            ]
            values[at] = lowest
            places[at] = place(row, first, plane)
            with loops.grid(*window) as inner:
                steps = zip(start, inner, dilation, strict=True)
                position = [b + tirx.Cast("int64", k) * d for b, k, d in steps]
                inside = [
                    tirx.all(p >= 0, p < extent) for p, extent in zip(position, plane, strict=True)
                ]
                with T.If(tirx.all(*inside)), T.Then():
                    value = data[row * _emit.extent(plane) + loops.flat(position, plane)]
                    wins = value > values[at]
                    wins = tirx.any(wins, tirx.isnan(value)) if "float" in dtype else wins
                    with T.If(wins), T.Then():
                        values[at] = value
                        places[at] = place(row, position, plane)

    results = [(out, dtype), (out, "int64")]
    return loops.emit(importer, body, results, x, *shape, hint="max_pool")
