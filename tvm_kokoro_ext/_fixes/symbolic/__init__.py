"""Symbolic sizes: arithmetic on them, inputs that depend on them, outputs that are sizes."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.symbolic import (
    conditions,
    derived_dim,
    floordiv,
    repeat_split_arange,
    scalar_tensor,
    specialized_dim,
    sym_float,
    symbolic_output,
)

FIXES: tuple[Fix, ...] = (
    floordiv.FIX,
    sym_float.FIX,
    conditions.FIX,
    scalar_tensor.FIX,
    repeat_split_arange.FIX,
    symbolic_output.FIX,
    derived_dim.FIX,
    specialized_dim.FIX,
)
