"""Reading and writing at indices: slices, masks, gathers, scatters, diagonals, windows."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.indexing import (
    diagonal,
    index_put,
    mask_read,
    masked_select,
    negative_index,
    scatter,
    scatter_reduce,
    slice,
    slice_scatter,
    unfold,
)

FIXES: tuple[Fix, ...] = (
    index_put.FIX,
    negative_index.FIX,
    mask_read.FIX,
    masked_select.FIX,
    masked_select.BROADCAST,
    slice.FIX,
    scatter.FIX,
    diagonal.FIX,
    unfold.FIX,
    scatter_reduce.FIX,
    slice_scatter.FIX,
)
