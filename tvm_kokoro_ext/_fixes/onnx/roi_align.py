"""RoiAlign of half pixels, and the maxima of its mode "max".

Stock subtracts half a pixel from boxes before the operator scales them, as it does in torchvision's
operator. Of a sample, ONNX's mode "max" takes the largest of the four weighted corners, and stock
their sum.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.detection.roi_align import pixels
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node

Previous = Callable[[Node], Any]


def roi_align(node: Node, previous: Previous) -> Any:
    """[boxes, C, output_height, output_width] of an input [N, C, H, W]."""
    default = "half_pixel" if node.opset >= 16 else "output_half_pixel"
    transformation = node.text("coordinate_transformation_mode", default)
    mode = node.text("mode", "avg")
    if transformation not in ("half_pixel", "output_half_pixel") or mode not in ("avg", "max"):
        return previous(node)
    x, boxes, images = (node.tensor(at) for at in range(3))
    half, attributes, dtype = transformation == "half_pixel", node.attributes, _compat.dtype_of(x)
    if dtype in ("float16", "bfloat16"):
        x, boxes = (node.emit(relax.op.astype(tensor, "float32")) for tensor in (x, boxes))
    scale = attributes.get("spatial_scale", 1.0)
    boxes = pixels(node.builder, boxes, [], scale, 0.5 if half else 0.0)
    images = node.emit(relax.op.astype(images, _compat.dtype_of(boxes)))
    images = node.emit(relax.op.expand_dims(images, axis=1))
    boxes = node.emit(relax.op.concat([images, boxes], axis=1))
    size = (attributes.get("output_height", 1), attributes.get("output_width", 1))
    ratio = attributes.get("sampling_ratio", 0)
    if mode == "max":
        return relax.op.astype(_largest_corners(node, x, boxes, size, ratio, half), dtype)
    made = relax.op.vision.roi_align(
        x,
        boxes,
        pooled_size=size,
        spatial_scale=1.0,
        sample_ratio=ratio,
        aligned=half,
        layout="NCHW",
        mode="avg",
    )
    return relax.op.astype(node.emit(made), dtype)


def _largest_corners(
    node: Node, x: Any, boxes: Any, size: tuple[int, int], ratio: int, half: bool
) -> Any:
    """TVM's kernel with another sample: the largest weighted corner, which is 0 outside."""
    sample = _kernels()._sample_common

    def compute(data: Any, boxes: Any) -> Any:
        height, width = data.shape[2:]
        dtype = str(data.dtype)

        def number(value: Any) -> Any:
            return tirx.Cast(dtype, value)

        def corner(image: Any, channel: Any, y: Any, x: Any) -> Any:
            outside = tirx.any(y < -1.0, x < -1.0, y > number(height), x > number(width))
            y = te.min(te.max(y, number(0)), number(height - 1))
            x = te.min(te.max(x, number(0)), number(width - 1))
            top, left = (te.floor(place).astype("int32") for place in (y, x))
            down, along = y - number(top), x - number(left)
            bottom = te.min(top + 1, tirx.Cast("int32", height - 1))
            right = te.min(left + 1, tirx.Cast("int32", width - 1))
            weighted = [
                (number(1) - down) * (number(1) - along) * data(image, channel, top, left),
                (number(1) - down) * along * data(image, channel, top, right),
                down * (number(1) - along) * data(image, channel, bottom, left),
                down * along * data(image, channel, bottom, right),
            ]
            largest = te.max(te.max(*weighted[:2]), te.max(*weighted[2:]))
            return tirx.if_then_else(outside, number(0), largest)

        def element(box: Any, channel: Any, row: Any, column: Any) -> Any:
            return sample(
                *(box, channel, row, column, boxes, *size, 1.0, ratio, half, dtype, False, corner)
            )

        shape = (boxes.shape[0], data.shape[1], *size)
        return te.compute(shape, element, name="roi_align_max")

    return node.builder.emit_te(compute, x, boxes, primfunc_name_hint="roi_align_max")


def _kernels() -> Any:
    """TVM's module, whose name in its package is that of a function."""
    return importlib.import_module("tvm.topi.vision.roi_align")


def _still_wrong() -> bool:
    if not _frontend.holds_expressions():
        return False
    moved_first = "relax.op.multiply(rois" not in _frontend.converter("RoiAlign")
    return moved_first or not hasattr(_kernels(), "_largest_corner")


FIX = Fix(
    id="onnx_roi_align",
    what="ONNX RoiAlign of half pixels is wrong for any spatial_scale but 1, and mode max is wrong",
    op="ONNX RoiAlign",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"RoiAlign": roi_align}),
    probe=_still_wrong,
    needs_torch=False,
)
