"""Reductions and running sums: their dtypes, axes and corrections."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.reductions import (
    amax_any_all_prod,
    counting,
    cumulative,
    empty_extremum,
    least_place,
    long_sums,
    std,
)

FIXES: tuple[Fix, ...] = (
    amax_any_all_prod.FIX,
    std.FIX,
    cumulative.FIX,
    counting.FIX,
    empty_extremum.FIX,
    least_place.FIX,
    long_sums.FIX,
)
