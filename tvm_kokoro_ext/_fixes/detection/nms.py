"""torchvision's `nms`, the boxes that no better box overlaps, whose number depends on the data."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import suppression
from tvm_kokoro_ext._fixes.indexing import mask_read
from tvm_kokoro_ext._fixes.sorting import nan_order


def nms(importer: Any, node: Any, previous: Any) -> Any:
    """Indices [k] of int64 of the boxes that are kept, the one of the highest score first.

    `dets` is [n, 4] (x1, y1, x2, y2) and `scores` [n]. A box is dropped if its overlap (the
    intersection over the union) with a kept one of a higher score is more than `iou_threshold`.
    """
    boxes, scores, threshold = _emit.arguments(importer, node, "dets", "scores", "iou_threshold")
    ranked = relax.op.argsort(
        nan_order.orderable(importer, scores), axis=0, descending=True, dtype="int64"
    )
    order = _emit.astype(importer, _emit.emit(importer, ranked), "int64")
    count = _compat.shape_of(boxes)[0]
    kept = suppression.kept(
        importer,
        _emit.emit(importer, relax.op.reshape(boxes, [1, count, 4])),
        _emit.emit(importer, relax.op.reshape(order, [1, 1, count])),
        _emit.emit(importer, relax.op.ones([1, 1, count], "bool")),
        threshold,
    )
    places = mask_read.places(importer, node, kept)
    return _emit.emit(importer, relax.op.take(order, places, axis=0))


FIX = Fix(
    id="nms",
    what="torchvision's nms is missing",
    op="torchvision.nms",
    affected="",
    converters={"nms.default": nms},
    probe=_probe.lacks("nms.default"),
)
