"""Not-a-number and infinities, in maxima, comparisons, pooling and constants."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.nan import bfloat16, comparison, elementwise, full, pooling, reductions

FIXES: tuple[Fix, ...] = (
    elementwise.FIX,
    reductions.FIX,
    pooling.FIX,
    comparison.FIX,
    full.FIX,
    bfloat16.FIX,
)
