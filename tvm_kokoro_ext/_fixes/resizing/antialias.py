"""Antialiased resizing as products with matrices of torch's filter weights.

Stock resizes without filtering, which is only right if no axis shrinks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe, _symbolic
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Converter, Fix
from tvm_kokoro_ext._fixes.resizing import _resize, upsample


def _resizer(kernel: Callable[[Any], Any]) -> Converter:
    def convert(importer: Any, node: Any, previous: Any) -> Any:
        x, size, align, *scales = _emit.arguments(
            importer, node, "input", "output_size", "align_corners", "scales_h", "scales_w"
        )
        dtype = _compat.dtype_of(x)
        if "float" not in dtype:
            raise upsample.refuse_integers(node, dtype)
        given = _compat.shape_of(x)[2:]
        known = _symbolic.known_symbols(importer)
        out = [_symbolic.to_prim(importer, d, known) for d in node.meta["val"].shape[2:]]
        if any(dim is None for dim in out):
            out = [_compat.prim(dim) for dim in size]
        shrinks = any(_shrinks(a, b) for a, b in zip(given, out, strict=True))
        if previous is not None and not shrinks:
            return previous(node)
        down, across = (
            _weights(importer, n, m, scale, bool(align), kernel, dtype)
            for n, m, scale in zip(given, out, scales, strict=True)
        )
        across = _emit.emit(importer, relax.op.permute_dims(across))
        rows = _emit.emit(importer, relax.op.matmul(x, across, out_dtype=dtype))
        return _emit.emit(importer, relax.op.matmul(down, rows, out_dtype=dtype))

    return convert


def _weights(
    importer: Any,
    length: Any,
    out: Any,
    scale: float | None,
    align: bool,
    kernel: Callable[[Any], Any],
    dtype: str,
) -> Any:
    """[out, length]: what each input element adds to each output element; rows add up to 1.

    They are computed in float32, of float64 pixels in float64.
    """
    wide = "float64" if dtype == "float64" else "float32"
    ratio = _resize.ratio(importer, length, out, scale, align, dtype=wide)

    def compute(step: Any, rows: Any, columns: Any) -> Any:
        one, half = tirx.const(1.0, wide), tirx.const(0.5, wide)

        def raw(i: Any, j: Any) -> Any:
            centre = step() * (tirx.Cast(wide, i) + half)
            stretch = tirx.max(step(), one)
            return kernel(tirx.abs(tirx.Cast(wide, j) + half - centre) / stretch)

        weights = te.compute((rows, columns), raw, name="weights")
        j = te.reduce_axis((0, columns), name="j")
        totals = te.compute((rows,), lambda i: te.sum(weights(i, j), axis=j), name="totals")
        return te.compute(
            (rows, columns),
            lambda i, j: tirx.Cast(dtype, weights(i, j) / totals(i)),
            name="filter",
        )

    return _emit.emit_te(
        importer, compute, ratio, _emit.int64(out), _emit.int64(length), hint="filter"
    )


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


def _shrinks(size: Any, out: Any) -> bool:
    """Whether an axis may become shorter, which is assumed for symbolic sizes."""
    return not isinstance(size, int) or not isinstance(out, int) or out < size


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
        "_upsample_bilinear2d_aa.default": _resizer(_triangle),
        "_upsample_bicubic2d_aa.default": _resizer(_cubic),
    },
    probe=_still_wrong,
)
