"""Matrix products, inverses and determinants."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.linear_algebra import grouped, inverse_and_determinant, matmul

FIXES: tuple[Fix, ...] = (
    matmul.FIX,
    grouped.FIX,
    inverse_and_determinant.FIX,
)
