"""torchvision's `roi_align` with `aligned=True`, where stock moves the boxes before it scales them.

Stock subtracts half a pixel from boxes in coordinates of the image, and the operator multiplies
them by `spatial_scale` afterwards, so that the result is wrong for any scale but 1. Halves are left
to `precision.half_precision`.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix, needs_previous


@needs_previous
def roi_align(importer: Any, node: Any, previous: Any) -> Any:
    """Averages of samples in each bin of each box, as torchvision's kernel for CPUs takes them.

    The input is [N, C, H, W] and the boxes are [K, 5] (image, x1, y1, x2, y2); the result is
    [K, C, pooled_height, pooled_width], in the dtype of the input.
    """
    x, boxes, scale, height, width, ratio, aligned = _emit.arguments(
        importer,
        node,
        *("input", "rois", "spatial_scale", "pooled_height", "pooled_width"),
        *("sampling_ratio", "aligned"),
    )
    if ratio <= 0 and not _compat.counts_roi_samples():
        raise _emit.refuse(
            node,
            "the boxes say how many samples a bin has, and no kernel of that can be built",
            "Give sampling_ratio a positive number, or use TVM 0.27",
        )
    if not aligned:
        return previous(node)
    boxes = pixels(importer.block_builder, boxes, [0], scale, 0.5)
    made = relax.op.vision.roi_align(
        x,
        boxes,
        pooled_size=(height, width),
        spatial_scale=1.0,
        sample_ratio=ratio,
        aligned=True,
        layout="NCHW",
        mode="avg",
    )
    return _emit.emit(importer, made)


def pixels(builder: Any, boxes: Any, kept: list[int], scale: float, offset: float) -> Any:
    """Boxes in coordinates of the input: scaled, and moved by `offset` to the upper left.

    Columns in `kept` are no coordinates, and stay as they are.
    """
    dtype, columns = _compat.dtype_of(boxes), 4 + len(kept)
    scales = [1.0 if column in kept else scale for column in range(columns)]
    offsets = [0.0 if column in kept else offset for column in range(columns)]
    scaled = builder.emit(relax.op.multiply(boxes, relax.const(scales, dtype)))
    return builder.emit(relax.op.subtract(scaled, relax.const(offsets, dtype)))


@_probe.wrong
def _still_wrong() -> bool:
    """Whether the offset of a scaled box is half a pixel of the image."""
    x, boxes = _probe.Input((1, 1, 4, 4)), _probe.Input((1, 5))
    made = _probe.convert("torchvision::roi_align.default", x, boxes, 0.25, 2, 2, 2, True)
    text = str(made.function)
    return "0.5" in text and "spatial_scale=0.25" in text


FIX = Fix(
    id="roi_align",
    what="roi_align with aligned=True is wrong for any spatial_scale but 1",
    op="torchvision.roi_align",
    affected="",
    converters={"roi_align.default": roi_align},
    probe=_still_wrong,
)
