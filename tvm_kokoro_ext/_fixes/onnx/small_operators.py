"""Operators that stock's frontend lacks: ReverseSequence, CumProd, LpNormalization, Col2Im."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _frontend, _layers
from tvm_kokoro_ext._fixes.onnx._layers import int64
from tvm_kokoro_ext._fixes.onnx.signal import number


def reverse_sequence(bb: Any, inputs: Any, attr: Any) -> Any:
    """The first elements of each row in reverse order, as many as its length says, or all."""
    time, batch = int(attr.get("time_axis", 0)), int(attr.get("batch_axis", 1))
    x, lengths = inputs[0], bb.emit(relax.op.astype(inputs[1], "int64"))
    lengths = bb.match_cast(lengths, _compat.tensor_type([_compat.shape_of(x)[batch]], "int64"))

    def compute(x: Any, lengths: Any) -> Any:
        def element(*at: Any) -> Any:
            length = tirx.min(lengths[at[batch]], x.shape[time].astype("int64"))
            from_end = length - 1 - at[time].astype("int64")
            place = tirx.if_then_else(from_end >= 0, from_end, at[time].astype("int64"))
            return x(*[place if axis == time else i for axis, i in enumerate(at)])

        return te.compute(x.shape, element, name="reversed")

    return bb.emit_te(compute, x, lengths, primfunc_name_hint="reverse_sequence")


def cumulative_product(bb: Any, inputs: Any, attr: Any) -> Any:
    """The products of all elements up to each, from the end if it is reversed."""
    x = inputs[0]
    axis = int(number(inputs[1], "CumProd", "axis")) % _compat.rank_of(x)
    if attr.get("reverse"):
        x = bb.emit(relax.op.flip(x, axis))
    made = bb.emit(relax.op.cumprod(x, axis, _compat.dtype_of(x), bool(attr.get("exclusive", 0))))
    return relax.op.flip(made, axis) if attr.get("reverse") else made


def lp_normalization(bb: Any, inputs: Any, attr: Any) -> Any:
    """x by its norm along an axis; 0 where that is 0."""
    x, emit = inputs[0], bb.emit
    axis = int(attr.get("axis", -1)) % _compat.rank_of(x)
    if int(attr.get("p", 2)) == 1:
        norm = emit(relax.op.sum(emit(relax.op.abs(x)), [axis], keepdims=True))
    else:
        square = emit(relax.op.multiply(x, x))
        norm = emit(relax.op.sqrt(emit(relax.op.sum(square, [axis], keepdims=True))))
    zero = relax.const(0, _compat.dtype_of(x))
    quotient = emit(relax.op.divide(x, norm))
    return relax.op.where(emit(relax.op.equal(norm, zero)), zero, quotient)


def col2im(bb: Any, inputs: Any, attr: Any) -> Any:
    """The sum of blocks [batch, channels · block, places] at their places in an image."""
    x = inputs[0]
    image, block = (_sizes(inputs[at], name) for at, name in ((1, "image_shape"), (2, "block")))
    rank = len(image)
    strides = list(attr.get("strides") or [1] * rank)
    dilations = list(attr.get("dilations") or [1] * rank)
    pads = list(attr.get("pads") or [0] * 2 * rank)
    batch, width, _ = _compat.shape_of(x)
    taps = reduce(lambda a, b: a * b, map(int, block), 1)

    def places(image: Sequence[Any]) -> list[Any]:
        return [
            (size + pads[d] + pads[rank + d] - dilations[d] * (int(block[d]) - 1) - 1) // strides[d]
            + 1
            for d, size in enumerate(image)
        ]

    blocks = reduce(lambda a, b: a * b, places(image), 1)
    x = bb.match_cast(x, _compat.tensor_type([batch, width, blocks], _compat.dtype_of(x)))

    def compute(x: Any, *image: Any) -> Any:
        counts = places(image)
        axes = [te.reduce_axis((int64(0), int64(int(size))), name="tap") for size in block]

        def element(n: Any, c: Any, *at: Any) -> Any:
            tap, place, valid = int64(0), int64(0), []
            for d in range(rank):
                start = at[d].astype("int64") + pads[d] - axes[d] * dilations[d]
                step = tirx.floordiv(start, int64(strides[d]))
                valid += [start >= 0, tirx.EQ(tirx.floormod(start, int64(strides[d])), int64(0))]
                valid.append(step < counts[d])
                tap, place = tap * int(block[d]) + axes[d], place * counts[d] + step
            value = x[n, c.astype("int64") * taps + tap, place]
            zero = tirx.const(0.0, str(x.dtype))
            return te.sum(tirx.if_then_else(tirx.all(*valid), value, zero), axis=axes)

        channels = tirx.floordiv(x.shape[1], int64(taps))
        return te.compute((x.shape[0], channels, *image), element, name="col2im")

    return bb.emit_te(compute, x, *map(int64, image), primfunc_name_hint="col2im")


def _sizes(value: Any, name: str) -> list[Any]:
    """An input that is a list of sizes."""
    if isinstance(value, relax.ShapeExpr):
        return list(value.values)
    array = _compat.constant_value(value)
    if array is None:
        raise _frontend.refusal(
            "Col2Im", f"its {name} is computed from data", "Give it as a constant"
        )
    return [int(size) for size in np.asarray(array).ravel()]


OPERATORS = {
    "ReverseSequence": reverse_sequence,
    "CumProd": cumulative_product,
    "LpNormalization": lp_normalization,
    "Col2Im": col2im,
}

FIX = Fix(
    id="onnx_small_operators",
    what="the ONNX operators ReverseSequence, CumProd, LpNormalization and Col2Im are missing",
    op="ONNX ReverseSequence, ONNX CumProd, ONNX LpNormalization, ONNX Col2Im",
    affected="",
    install=lambda: _frontend.with_operators(_layers.classes(OPERATORS)),
    probe=lambda: bool(_frontend.listed()) and "ReverseSequence" not in _frontend.listed(),
    needs_torch=False,
)
