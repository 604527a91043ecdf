"""Matrix products and factorizations."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.linear_algebra import factorizations, grouped, matmul

FIXES: tuple[Fix, ...] = (
    matmul.FIX,
    grouped.FIX,
    factorizations.FIX,
)
