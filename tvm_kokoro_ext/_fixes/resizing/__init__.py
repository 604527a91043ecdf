"""Resizing: nearest and linear, with and without antialiasing."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.resizing import antialias, upsample

FIXES: tuple[Fix, ...] = (
    upsample.FIX,
    antialias.FIX,
)
