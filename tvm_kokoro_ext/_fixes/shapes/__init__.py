"""Shapes: axes that come and go, tensors without dimensions or without elements."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.shapes import empty, expand, pad, reshape, squeeze, zero_dimensions

FIXES: tuple[Fix, ...] = (
    squeeze.FIX,
    expand.FIX,
    reshape.FIX,
    pad.FIX,
    zero_dimensions.FIX,
    empty.FIX,
)
