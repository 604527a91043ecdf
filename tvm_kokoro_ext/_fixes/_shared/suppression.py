"""Suppression of boxes that a better one overlaps, for torchvision's and ONNX's operators."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import T, tirx
from tvm_kokoro_ext._fixes._shared import loops


def kept(
    importer: Any, boxes: Any, order: Any, wanted: Any, threshold: float, most: Any = None
) -> Any:
    """Which boxes are kept, [images, classes, boxes] of bool, the best first.

    `boxes` is [images, boxes, 4] (two opposite corners, the smaller coordinates first), and `order`
    [images, classes, boxes] of int64 has their numbers, the best first. A box that is not `wanted`
    (bool, in that order) is dropped; so is one whose overlap with a kept one, the intersection over
    the union, is more than `threshold`; and of the rest what comes after `most`.
    """
    shape = _compat.shape_of(order)

    def body(
        dims: Any, kept: Any, taken: Any, data: Any, order: Any, wanted: Any, most: Any
    ) -> None:
        images, classes, count = dims[0]
        with T.serial(0, images * classes) as group:
            base, image = group * count, (group // classes) * count
            taken[0] = tirx.const(0, "int64")
            with T.serial(0, count) as i:
                kept[base + i] = wanted[base + i]
            with T.serial(0, count) as i, T.If(kept[base + i]), T.Then():
                best = (image + order[base + i]) * 4
                # Where enough boxes are kept, this one is dropped, and nothing is left to drop.
                kept[base + i] = taken[0] < most
                taken[0] = taken[0] + tirx.const(1, "int64")
                rest = tirx.if_then_else(kept[base + i], count - i - 1, tirx.const(0, "int64"))
                with T.serial(0, rest) as j:
                    place = base + i + 1 + j
                    overlap = _overlap(data, best, (image + order[place]) * 4)
                    with T.If(overlap > tirx.const(threshold, "float64")), T.Then():
                        kept[place] = tirx.const(False, "bool")

    results = [(shape, "bool"), ([1], "int64")]
    bound = shape[-1] if most is None else most
    return loops.emit(importer, body, results, boxes, order, wanted, bound, hint="suppressed")[0]


def _overlap(data: Any, at: Any, other: Any) -> Any:
    """Intersection over union in the dtype of the boxes, as float64."""
    (left, top, right, bottom), (x1, y1, x2, y2) = (
        [data[place + corner] for corner in range(4)] for place in (at, other)
    )
    zero = tirx.const(0, str(data.dtype))
    width = _larger(zero, _smaller(right, x2) - _larger(left, x1))
    height = _larger(zero, _smaller(bottom, y2) - _larger(top, y1))
    shared = width * height
    areas = (right - left) * (bottom - top) + (x2 - x1) * (y2 - y1)
    return tirx.Cast("float64", shared / (areas - shared))


def _larger(a: Any, b: Any) -> Any:
    """C++'s `std::max`, which gives `a` where one of them is NaN."""
    return tirx.Select(a < b, b, a)


def _smaller(a: Any, b: Any) -> Any:
    """C++'s `std::min`, which gives `a` where one of them is NaN."""
    return tirx.Select(b < a, b, a)
