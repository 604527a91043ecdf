"""torchvision's `roi_align` and `nms`, which are defined here where it is not installed."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from frontend_cases import Case, check, export, fix_tests, import_program
from packaging.version import Version

from tvm_kokoro_ext import UnsupportedOperatorError, _compat

NAN = float("nan")
OLDER = _compat.tvm_version() < Version("0.27")


def sample(plane, y, x):
    """[C] by bilinear interpolation in [C, H, W]; 0 beyond one pixel around."""
    _, height, width = plane.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros(len(plane))
    y, x = (min(max(at, 0.0), size - 1.0) for at, size in ((y, height), (x, width)))
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    down, along = y - top, x - left
    upper = plane[:, top, left] * (1 - along) + plane[:, top, right] * along
    lower = plane[:, bottom, left] * (1 - along) + plane[:, bottom, right] * along
    return upper * (1 - down) + lower * down


def averages(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned):
    """What torchvision's kernel computes, in float64, rounded once."""
    data, bins = input.double().numpy(), (pooled_height, pooled_width)
    made = np.zeros((len(rois), input.shape[1], *bins))
    for at, (image, *box) in enumerate(rois.double().numpy()):
        left, top, right, bottom = (edge * spatial_scale - (0.5 if aligned else 0) for edge in box)
        size = [bottom - top, right - left]
        if not aligned:
            size = [max(extent, 1.0) for extent in size]
        step = [extent / count for extent, count in zip(size, bins, strict=True)]
        counts = [sampling_ratio if sampling_ratio > 0 else math.ceil(s) for s in step]
        for row, column in np.ndindex(*bins):
            total = np.zeros(input.shape[1])
            for i in range(counts[0]):
                for j in range(counts[1]):
                    y = top + step[0] * (row + (i + 0.5) / counts[0])
                    x = left + step[1] * (column + (j + 0.5) / counts[1])
                    total += sample(data[int(image)], y, x)
            made[at, :, row, column] = total / max(counts[0] * counts[1], 1)
    return torch.from_numpy(made).to(input.dtype)


def fake_averages(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned):
    return input.new_empty((rois.shape[0], input.shape[1], pooled_height, pooled_width))


def kept(dets, scores, iou_threshold):
    boxes = dets.numpy()
    order = scores.sort(stable=True, descending=True)[1].tolist()
    chosen = []
    for at in order:
        if all(not overlap(boxes[best], boxes[at]) > iou_threshold for best in chosen):
            chosen.append(at)
    return torch.tensor(chosen, dtype=torch.int64)


def overlap(a, b):
    """The intersection over the union in float32; NaN, which is more than nothing, of no area."""
    with np.errstate(invalid="ignore"):
        shared = max(a.dtype.type(0), min(a[2], b[2]) - max(a[0], b[0]))
        shared = shared * max(a.dtype.type(0), min(a[3], b[3]) - max(a[1], b[1]))
        areas = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])
        return float(shared / (areas - shared))


def fake_kept(dets, scores, iou_threshold):
    return dets.new_empty(torch.library.get_ctx().new_dynamic_size(), dtype=torch.int64)


try:
    import torchvision  # noqa: F401
except (ImportError, RuntimeError):  # not here, or made for another torch
    LIBRARY = torch.library.Library("torchvision", "FRAGMENT")
    SCHEMAS = {
        "roi_align": "(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
        "SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor",
        "nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    }
    for name, kernel, fake in [
        ("roi_align", averages, fake_averages),
        ("nms", kept, fake_kept),
    ]:
        LIBRARY.define(name + SCHEMAS[name])
        torch.library.impl(LIBRARY, name, "CPU")(kernel)
        torch.library.register_fake(f"torchvision::{name}", fake, lib=LIBRARY)


def images(dtype):
    def make(n):
        """A map of two images and n boxes: within, beyond every edge, of no size, turned over."""
        boxes = [[0, 1, 2, 30, 20], [1, -5, -4, 50, 44], [0, 8, 8, 8.5, 8.25], [1, 9, 9, 9, 9]]
        boxes += [[1, 30, 30, 10, 10], [0, -90, -90, -80, -80], [1, 3, 3, 39, 47]]
        many = torch.tensor(boxes + boxes)[:n]
        return torch.randn(2, 3, n + 4, 2 * n).to(dtype), many.to(dtype)

    return make


def aligned_case(name, *arguments, dtype=torch.float32, wrong=""):
    return Case(
        name,
        lambda x, boxes: torch.ops.torchvision.roi_align(x, boxes, *arguments),
        images(dtype),
        wrong=wrong,
        tolerance={torch.float16: 2e-3}.get(dtype, 1e-5),
    )


ADAPTIVE = [
    aligned_case("adaptive", 0.25, 2, 3, -1, True),
    aligned_case("adaptive_float64", 0.125, 3, 2, 0, True, dtype=torch.float64),
    aligned_case("unaligned_adaptive", 0.5, 2, 2, -1, False, wrong=None),
]
test_roi_align, test_stock_roi_align = fix_tests(
    "roi_align",
    [
        *([] if OLDER else ADAPTIVE),
        aligned_case("quarter", 0.25, 3, 2, 2, True),
        aligned_case("float64", 0.125, 3, 2, 2, True, dtype=torch.float64),
        aligned_case("float16", 0.25, 3, 2, 2, True, dtype=torch.float16),
        aligned_case("float16_unaligned", 0.25, 3, 2, 2, False, dtype=torch.float16),
        aligned_case("unscaled", 1.0, 3, 2, 2, True, wrong=None),
        aligned_case("unaligned", 0.25, 3, 2, 2, False, wrong=None),
    ],
)


@pytest.mark.skipif(not OLDER, reason="0.27 builds them")
@pytest.mark.parametrize("case", ADAPTIVE, ids=lambda case: case.name)
def test_as_many_samples_as_the_boxes_say_are_refused(case):
    with pytest.raises(UnsupportedOperatorError, match="roi_align.*a positive number"):
        import_program(export(case, False), False)


def detections(dtype=torch.float32, scores=(0.9, 0.8, 0.8, 0.1, 0.95, 0.5, 0.5, 0.3, 0.7)):
    def make(n):
        """Boxes of which some overlap by a half or a third exactly, and some have no area."""
        boxes = [[0, 0, 4, 4], [0, 0, 4, 2], [2, 0, 6, 4], [0, 0, 4, 4], [10, 10, 12, 12]]
        boxes += [[10, 10, 10, 10], [11, 10, 13, 12], [5, 5, 3, 3], [0, 1, 4, 5]]
        return torch.tensor(boxes[:n], dtype=dtype), torch.tensor(scores[:n], dtype=dtype)

    return make


def kept_case(name, threshold, make=None):
    return Case(
        name,
        lambda boxes, scores: torch.ops.torchvision.nms(boxes, scores, threshold),
        make or detections(),
        wrong="",
    )


test_nms, test_stock_nms = fix_tests(
    "nms",
    [
        kept_case("a_third", 1 / 3),
        kept_case("a_half", 0.5),
        kept_case("none", 0.0),
        kept_case("all", 1.0),
        kept_case("float64", 0.3, detections(torch.float64)),
        kept_case("nan", 0.5, detections(scores=(0.9, NAN, 0.8, NAN, 0.9, -1.0, 2.0, 0.0, -0.0))),
    ],
)


def test_boxes_that_are_kept_select_others():
    """The number of boxes is a size of what follows, and no box is a result too."""

    def chosen(boxes, scores):
        indices = torch.ops.torchvision.nms(boxes, scores, 0.5)
        return boxes[indices] * 2, scores[indices].sum()

    check(Case("chosen", chosen, detections()), True, False)


@pytest.mark.parametrize("value", [NAN, float("inf"), -float("inf"), 3e38])
def test_boxes_of_no_place_read_nothing_foreign(value):
    """torchvision leaves the result open; the process goes on, and other boxes are right."""
    from frontend_cases import compile_module, export, import_program

    case = aligned_case("nowhere", 0.25, 3, 2, 2, True)
    x, boxes = case.inputs(6)
    run = compile_module(import_program(export(case, False), False))
    right = run(x.numpy(), boxes.numpy())[0]
    boxes[2, 1:] = value
    made = run(x.numpy(), boxes.numpy())[0]
    others = [0, 1, 3, 4, 5]
    np.testing.assert_array_equal(made[others], right[others])
