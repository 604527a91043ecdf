"""Binary arithmetic: dtypes, scalars, `alpha`, division, overflow, and products with zero."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.arithmetic import (
    alpha,
    bool_arithmetic,
    division,
    dtype_promotion,
    integer_overflow,
    symbolic_scalar,
    zero_divisor,
    zero_factor,
)

FIXES: tuple[Fix, ...] = (
    division.FIX,
    bool_arithmetic.FIX,
    dtype_promotion.FIX,
    symbolic_scalar.FIX,
    alpha.FIX,
    zero_factor.FIX,
    integer_overflow.FIX,
    zero_divisor.FIX,
)
