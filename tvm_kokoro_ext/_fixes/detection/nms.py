"""torchvision's `nms`, the boxes that no better box overlaps, whose number depends on the data."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import T, relax, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import loops
from tvm_kokoro_ext._fixes.indexing import mask_read
from tvm_kokoro_ext._fixes.sorting import nan_order


def nms(importer: Any, node: Any, previous: Any) -> Any:
    """Indices [k] of int64 of the boxes that are kept, the one of the highest score first.

    `dets` is [n, 4] (x1, y1, x2, y2) and `scores` [n]. A box is dropped if its overlap (the
    intersection over the union) with a kept one of a higher score is more than `iou_threshold`.
    """
    boxes, scores, threshold = _emit.arguments(importer, node, "dets", "scores", "iou_threshold")
    if _compat.dtype_of(boxes) in ("float16", "bfloat16"):
        boxes = _emit.astype(importer, boxes, "float32")
    ranked = relax.op.argsort(
        nan_order.orderable(importer, scores), axis=0, descending=True, dtype="int64"
    )
    order = _emit.astype(importer, _emit.emit(importer, ranked), "int64")
    sorted_boxes = _emit.emit(importer, relax.op.take(boxes, order, axis=0))

    def body(dims: Any, kept: Any, data: Any) -> None:
        ((count,),) = dims
        with T.serial(0, count) as i:
            kept[i] = tirx.const(True, "bool")
        with T.serial(0, count) as i, T.If(kept[i]), T.Then(), T.serial(0, count - i - 1) as j:
            other = i + 1 + j
            with T.If(_overlap(data, i, other) > tirx.const(threshold, "float64")), T.Then():
                kept[other] = tirx.const(False, "bool")

    shape = [_compat.shape_of(boxes)[0]]
    (kept,) = loops.emit(importer, body, [(shape, "bool")], sorted_boxes, hint="nms")
    places = mask_read.places(importer, node, kept)
    return _emit.emit(importer, relax.op.take(order, places, axis=0))


def _overlap(data: Any, i: Any, j: Any) -> Any:
    """Intersection over union in the dtype of the boxes, as float64; of NaN as torchvision's."""
    (left, top, right, bottom), other = ([data[at * 4 + k] for k in range(4)] for at in (i, j))
    zero = tirx.const(0, str(data.dtype))
    width = _larger(zero, _smaller(right, other[2]) - _larger(left, other[0]))
    height = _larger(zero, _smaller(bottom, other[3]) - _larger(top, other[1]))
    shared = width * height
    own = (right - left) * (bottom - top)
    theirs = (other[2] - other[0]) * (other[3] - other[1])
    return tirx.Cast("float64", shared / (own + theirs - shared))


def _larger(a: Any, b: Any) -> Any:
    """C++'s `std::max`, which gives `a` where one of them is NaN."""
    return tirx.Select(a < b, b, a)


def _smaller(a: Any, b: Any) -> Any:
    """C++'s `std::min`, which gives `a` where one of them is NaN."""
    return tirx.Select(b < a, b, a)


FIX = Fix(
    id="nms",
    what="torchvision's nms is missing",
    op="torchvision.nms",
    affected="",
    converters={"nms.default": nms},
    probe=_probe.lacks("nms.default"),
)
