"""conv_transpose3d, which TVM lacks, as a gather for each output element."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.linear_algebra.matmul import accumulation_dtype


def convolution(importer: Any, node: Any, previous: Any) -> Any:
    x, weight, bias, strides, padding, dilation, flipped, extra, groups = _emit.arguments(
        importer,
        node,
        *("input", "weight", "bias", "stride", "padding", "dilation"),
        *("transposed", "output_padding", "groups"),
    )
    if not flipped or _compat.rank_of(x) != 5:
        return previous(node)
    return _emit_kernel(importer, x, weight, bias, strides, padding, dilation, extra, groups)


def transposed(importer: Any, node: Any, previous: Any) -> Any:
    x, weight, bias, strides, padding, extra, groups, dilation = _emit.arguments(
        importer,
        node,
        *("input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation"),
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        dilation=1,
    )
    if _compat.rank_of(x) != 5:
        raise _emit.refuse(node, "an input without a batch dimension", "Add one: x[None]")
    return _emit_kernel(importer, x, weight, bias, strides, padding, dilation, extra, groups)


def _emit_kernel(
    importer: Any,
    x: Any,
    weight: Any,
    bias: Any,
    strides: Any,
    padding: Any,
    dilation: Any,
    extra: Any,
    groups: int,
) -> Any:
    """x [n, i, d, h, w], weight [i, o / groups, kd, kh, kw] -> [n, o, …] in x's dtype.

    Half precision is added up in float32 and rounded once, the bias included.
    """
    steps, pads, gaps, ends = (_three(sizes) for sizes in (strides, padding, dilation, extra))
    window = [_compat.as_int(dim) for dim in _compat.shape_of(weight)[2:]]
    dtype = _compat.dtype_of(x)
    wide = accumulation_dtype(dtype)

    def compute(data: Any, kernel: Any) -> Any:
        size = [
            (m - 1) * s - 2 * p + d * (k - 1) + e + 1
            for m, s, p, d, k, e in zip(
                data.shape[2:], steps, pads, gaps, window, ends, strict=True
            )
        ]
        inputs, outputs = data.shape[1] // groups, kernel.shape[1]
        channel = te.reduce_axis((0, inputs), name="channel")
        taps = [te.reduce_axis((0, k), name="tap") for k in window]

        def element(batch: Any, out: Any, *at: Any) -> Any:
            group = tirx.floordiv(out, outputs)
            inside, position = [], []
            for i, k, m, s, p, d in zip(at, taps, data.shape[2:], steps, pads, gaps, strict=True):
                reach = i + p - k * d
                place = tirx.floordiv(reach, s)
                inside += [reach >= 0, tirx.floormod(reach, s) == 0, place < m]
                position.append(place)
            source = group * inputs + channel
            pixel = data(batch, source, *position)
            weight = kernel(source, out - group * outputs, *taps)
            value = tirx.Cast(wide, pixel) * tirx.Cast(wide, weight)
            zero = tirx.const(0, wide)
            return te.sum(tirx.if_then_else(tirx.all(*inside), value, zero), axis=[channel, *taps])

        shape = (data.shape[0], outputs * groups, *size)
        return te.compute(shape, element, name="conv_transpose3d")

    result = _emit.emit_te(importer, compute, x, weight, hint="conv_transpose3d")
    if bias is not None:
        column = _emit.emit(importer, relax.op.reshape(bias, [1, -1, 1, 1, 1]))
        column = _emit.astype(importer, column, wide)
        result = _emit.emit(importer, relax.op.add(result, column))
    return _emit.astype(importer, result, dtype)


def _three(sizes: Any) -> list[int]:
    sizes = list(sizes) if isinstance(sizes, list | tuple) else [sizes]
    return sizes * 3 if len(sizes) == 1 else sizes


FIX = Fix(
    id="conv_transpose3d",
    what="conv_transpose3d is missing",
    op="aten.conv_transpose3d",
    affected="",
    converters={"convolution.default": convolution, "conv_transpose3d.input": transposed},
    probe=_probe.lacks("conv_transpose3d.input"),
)
