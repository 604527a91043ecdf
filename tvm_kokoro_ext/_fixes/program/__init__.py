"""The program as a whole: what is decomposed, its branches, its outputs, its name."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.program import (
    assertion,
    cond,
    cond_dimensions,
    copies,
    decompose,
    function_name,
    inplace,
    inputs,
    item,
    kept_whole,
    loops,
    mutation,
    number_outputs,
    read_floats,
    views,
)

# Innermost: what looks at a program has to see it before it is decomposed.
FIRST: tuple[Fix, ...] = (views.FIX,)

FIXES: tuple[Fix, ...] = (
    assertion.FIX,
    item.FIX,
    read_floats.FIX,
    inputs.FIX,
    inplace.FIX,
    mutation.FIX,
    decompose.FIX,
    assertion.SCALAR,  # behind what decomposes into such assertions
    kept_whole.FIX,
    copies.FIX,
    number_outputs.FIX,
    cond.FIX,
    cond_dimensions.FIX,
    loops.FIX,
    function_name.FIX,
)
