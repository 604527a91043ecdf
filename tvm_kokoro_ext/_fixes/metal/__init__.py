"""Metal: matrix products and the names of functions."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.metal import math_functions, matmul

FIXES: tuple[Fix, ...] = (
    matmul.FIX,
    math_functions.FIX,
)
