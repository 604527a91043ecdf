"""Pooling: maxima with their indices, averages, adaptive sizes."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.pooling import adaptive_average, adaptive_maximum, pool_indices

FIXES: tuple[Fix, ...] = (
    pool_indices.FIX,
    adaptive_average.FIX,
    adaptive_average.CONSTANT,
    adaptive_maximum.FIX,
)
