"""NonMaxSuppression of any scores and thresholds.

Stock marks dropped boxes by a score of -1, so that it confuses them with boxes of negative scores;
it drops a box whose overlap equals the threshold, and takes 0.5 for a threshold that is left out or
that the graph computes.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import suppression
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node
from tvm_kokoro_ext._fixes.sorting import nan_order

Previous = Callable[[Node], Any]
_BOUNDS = ("max_output_boxes_per_class", "iou_threshold", "score_threshold")


def non_max_suppression(node: Node, previous: Previous) -> Any:
    """(image, class, box) of the boxes that are kept, [k, 3] of int64, the best of a class first.

    Boxes are [images, boxes, 4] and scores [images, classes, boxes].
    """
    importer = SimpleNamespace(block_builder=node.builder)
    scores, most = node.tensor(1), int(_number(node, 0, 0))
    ordered = nan_order.orderable(importer, scores)
    ranked = relax.op.argsort(ordered, axis=2, descending=True, dtype="int64")
    order = node.emit(relax.op.astype(node.emit(ranked), "int64"))
    best = node.emit(relax.op.gather_elements(scores, order, 2))
    if node.given(4) is None:
        wanted = node.emit(relax.op.ones(_compat.shape_of(scores), "bool"))
    else:
        bound = relax.const(_number(node, 2, 0.0), _compat.dtype_of(scores))
        wanted = node.emit(relax.op.greater(best, bound))
    threshold = float(np.float32(_number(node, 1, 0.0)))
    kept = suppression.kept(importer, _corners(node), order, wanted, threshold, most)
    found = node.emit(relax.op.nonzero(kept))
    count = _compat.tir_var("selected")
    found = node.builder.match_cast(found, _compat.tensor_type([3, count], "int64"))
    places = node.emit(relax.op.permute_dims(found, [1, 0]))
    box = node.emit(relax.op.gather_nd(order, places))
    classes = node.emit(relax.op.strided_slice(places, [1], [0], [2]))
    box = node.emit(relax.op.reshape(box, [count, 1]))
    return relax.op.concat([classes, box], axis=1)


def _corners(node: Node) -> Any:
    """The boxes by two opposite corners, the smaller coordinates first."""
    boxes = node.tensor(0)
    halves = node.emit(relax.op.split(boxes, 2, axis=2))
    first, second = (node.emit(relax.TupleGetItem(halves, at)) for at in range(2))
    if node.attributes.get("center_point_box", 0):
        half = relax.const(0.5, _compat.dtype_of(boxes))
        reach = node.emit(relax.op.multiply(second, half))
        low = node.emit(relax.op.subtract(first, reach))
        high = node.emit(relax.op.add(first, reach))
    else:
        low = node.emit(relax.op.minimum(first, second))
        high = node.emit(relax.op.maximum(first, second))
    return node.emit(relax.op.concat([low, high], axis=2))


def _number(node: Node, at: int, default: float) -> float:
    """The bound of this number; its default where it is left out."""
    if node.given(2 + at) is None:
        return default
    known = node.known(2 + at)
    if known is None or not known.constant:
        raise _frontend.refusal(
            "NonMaxSuppression",
            f"its {_BOUNDS[at]} is not constant",
            "Make it a constant of the graph",
        )
    return float(known.values.flat[0])


FIX = Fix(
    id="onnx_nms",
    what="ONNX NonMaxSuppression of negative scores, or overlaps of the threshold, is wrong",
    op="ONNX NonMaxSuppression",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"NonMaxSuppression": non_max_suppression}),
    probe=lambda: _frontend.holds_expressions()
    and "iou_threshold = 0.5  # Default value" in _frontend.converter("NonMaxSuppression"),
    needs_torch=False,
)
