"""Elementwise functions of one tensor or two."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.functions import (
    atan2,
    clamp,
    elu,
    llvm_math,
    logaddexp,
    near_zero,
    rounding,
    small_operators,
    softshrink,
    special,
    unary,
    without_converter,
)

FIXES: tuple[Fix, ...] = (
    clamp.FIX,
    atan2.FIX,
    elu.FIX,
    softshrink.FIX,
    near_zero.FIX,
    unary.FIX,
    without_converter.FIX,
    rounding.FIX,
    special.FIX,
    small_operators.FIX,
    logaddexp.FIX,
    llvm_math.FIX,
)
