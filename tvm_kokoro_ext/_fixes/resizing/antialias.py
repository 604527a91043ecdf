"""Antialiased resizing as products with matrices of torch's filter weights.

Stock resizes without filtering, which is only right if no axis shrinks and neither aligned corners
nor a factor place the pixels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe, _symbolic
from tvm_kokoro_ext._compat import te, tirx
from tvm_kokoro_ext._fix import Converter, Fix
from tvm_kokoro_ext._fixes.resizing import _resize, upsample


def _resizer(kernel: Callable[[Any], Any], support: int) -> Converter:
    """`support`: how many pixels the kernel reaches to each side where nothing shrinks."""

    def convert(importer: Any, node: Any, previous: Any) -> Any:
        x, size, align, *scales = _emit.arguments(
            importer, node, "input", "output_size", "align_corners", "scales_h", "scales_w"
        )
        dtype = _compat.dtype_of(x)
        if "float" not in dtype:
            raise upsample.refuse_integers(node, dtype)
        known = _symbolic.known_symbols(importer)
        out = [_symbolic.to_prim(importer, d, known) for d in node.meta["val"].shape[2:]]
        if any(dim is None for dim in out):
            out = [_compat.prim(dim) for dim in size]
        for axis, scale in ((3, scales[1]), (2, scales[0])):  # in torch's order
            x = _resized(importer, x, axis, out[axis - 2], scale, bool(align), kernel, support)
        return x

    return convert


def _resized(
    importer: Any,
    x: Any,
    axis: int,
    out: Any,
    scale: float | None,
    align: bool,
    kernel: Callable[[Any], Any],
    support: int,
) -> Any:
    """One axis: each output is the weighted mean of the pixels under the stretched kernel.

    Only those are read, so that infinity and NaN reach no other pixels. As in torch, an axis that
    keeps its size is not resampled, by whatever scale. Weights are computed in float32, and in
    float64 for pixels in float64.
    """
    dtype, length = _compat.dtype_of(x), _compat.shape_of(x)[axis]
    wide = "float64" if dtype == "float64" else "float32"
    ratio = _resize.ratio(importer, length, out, scale, align, dtype=wide)
    widest = _widest(length, out, None if align else scale, support)

    def compute(data: Any, step: Any, rows: Any, width: Any) -> Any:
        one, half = tirx.const(1.0, wide), tirx.const(0.5, wide)
        end = tirx.Cast("int64", data.shape[axis])
        kept = rows == end

        def stride() -> Any:
            # Torch's corners do not meet where there is one output element.
            return tirx.Select(rows == 1, tirx.const(0.0, wide), step()) if align else step()

        def centre(i: Any) -> Any:
            return stride() * (tirx.Cast(wide, i) + half)

        def stretch() -> Any:
            return tirx.max(stride(), one)

        def edge(i: Any, side: int) -> Any:
            reach = tirx.const(float(side * support), wide) * stretch()
            return tirx.Cast("int64", centre(i) + reach + half)

        def lowest(i: Any) -> Any:
            return tirx.Select(kept, i, tirx.max(edge(i, -1), tirx.const(0, "int64")))

        def above(i: Any) -> Any:
            return tirx.Select(kept, i + 1, tirx.min(edge(i, 1), end))

        first = te.compute((rows,), lowest, name="first")
        beyond = te.compute((rows,), above, name="beyond")

        def raw(i: Any, k: Any) -> Any:
            j = first(i) + k
            weight = kernel(tirx.abs(tirx.Cast(wide, j) + half - centre(i)) / stretch())
            weight = tirx.Select(kept, one, weight)
            return tirx.Select(j < beyond(i), weight, tirx.const(0.0, wide))

        weights = te.compute((rows, width), raw, name="weights")
        k = te.reduce_axis((0, width), name="k")
        totals = te.compute((rows,), lambda i: te.sum(weights(i, k), axis=k), name="totals")
        filters = te.compute(
            (rows, width), lambda i, k: tirx.Cast(dtype, weights(i, k) / totals(i)), name="filter"
        )
        n = te.reduce_axis((0, width), name="n")

        def added(*at: Any) -> Any:
            i = at[axis]
            place = tirx.min(first(i) + n, end - 1)
            pixel = tirx.Cast(wide, data(*at[:axis], place, *at[axis + 1 :]))
            product = pixel * tirx.Cast(wide, filters(i, n))
            inside = first(i) + n < beyond(i)
            return te.sum(tirx.Select(inside, product, tirx.const(0.0, wide)), axis=n)

        shape = (*data.shape[:axis], rows, *data.shape[axis + 1 :])
        sums = te.compute(shape, added, name="sums")
        return te.compute(shape, lambda *at: tirx.Cast(dtype, sums(*at)), name="resized")

    return _emit.emit_te(
        importer, compute, x, ratio, _emit.int64(out), _emit.int64(widest), hint="antialias"
    )


def _widest(length: Any, out: Any, scale: float | None, support: int) -> Any:
    """An upper bound of how many pixels are under the kernel; one more for what is rounded."""
    if scale is not None and scale > 0:
        return 2 * math.ceil(support * max(1 / scale, 1.0)) + 2
    if isinstance(length, int) and isinstance(out, int):
        # With aligned corners a step is (length - 1) / (out - 1), at most twice length / out.
        return min(length, 2 * math.ceil(2 * support * max(length / out, 1.0)) + 2)
    length, out = _emit.int64(length), _emit.int64(out)
    steps = tirx.floordiv(2 * support * length + out - 1, out)
    return 2 * tirx.max(steps, tirx.const(2 * support, "int64")) + 2


def _triangle(distance: Any) -> Any:
    dtype = _compat.prim_dtype(distance)
    return tirx.max(tirx.const(1.0, dtype) - distance, tirx.const(0.0, dtype))


def _cubic(distance: Any) -> Any:
    """Keys' cubic convolution kernel with a = −1/2."""
    dtype = _compat.prim_dtype(distance)
    f = [tirx.const(value, dtype) for value in (0.0, 1.0, 1.5, 2.5, 2.0, 4.0)]
    near = (f[2] * distance - f[3]) * distance * distance + f[1]
    far = f[4] - distance * (f[5] - distance * (f[3] - distance / f[4]))
    return tirx.Select(distance < f[1], near, tirx.Select(distance < f[4], far, f[0]))


@_probe.wrong
def _still_wrong() -> bool:
    made = _probe.convert(
        "_upsample_bilinear2d_aa.default",
        _probe.Input((1, 1, 8, 8)),
        [3, 3],
        False,
        out=((1, 1, 3, 3), "float32"),
    )
    return "relax.image.resize2d" in made.ops


FIX = Fix(
    id="antialias",
    what="resizing with antialias=True is not antialiased where it shrinks",
    op="aten._upsample_bilinear2d_aa, aten._upsample_bicubic2d_aa",
    affected="",
    converters={
        "_upsample_bilinear2d_aa.default": _resizer(_triangle, 1),
        "_upsample_bicubic2d_aa.default": _resizer(_cubic, 2),
    },
    probe=_still_wrong,
)
