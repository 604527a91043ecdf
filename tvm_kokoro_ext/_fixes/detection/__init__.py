"""Operators of torchvision that models for detection call."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.detection import nms, roi_align

FIXES: tuple[Fix, ...] = (
    roi_align.FIX,
    nms.FIX,
)
