"""Symbolic sizes: arithmetic on them, inputs that depend on them, outputs that are sizes."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.symbolic import (
    conditions,
    derived_dim,
    equal_sizes,
    floordiv,
    guards,
    repeat_split_arange,
    scalar_tensor,
    specialized_dim,
    sym_float,
    symbolic_output,
    upper_bound,
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
    upper_bound.FIX,
    guards.FIX,
)

# Outermost: the converters of all subjects see operands that are declared to have equal sizes.
LAST: tuple[Fix, ...] = (equal_sizes.FIX,)
