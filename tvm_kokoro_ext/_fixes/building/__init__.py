"""Building an imported program: targets, reshapes, the names of kernels."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.building import (
    compile_target,
    constant_pool,
    empty_reduction,
    empty_scan,
    global_symbol,
    match_cast_memory,
    reshape_kernel,
    reshape_pattern,
    shape_functions,
)

FIXES: tuple[Fix, ...] = (
    compile_target.FIX,
    reshape_pattern.FIX,
    reshape_kernel.FIX,
    match_cast_memory.FIX,
    constant_pool.FIX,
    empty_reduction.FIX,
    empty_scan.FIX,
    global_symbol.FIX,
    shape_functions.FIX,
)
