"""Sorting and searching in what is sorted."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.sorting import bucketize, index_dtype, kthvalue, nan_order, topk

FIXES: tuple[Fix, ...] = (
    index_dtype.FIX,
    bucketize.FIX,
    kthvalue.FIX,
    nan_order.FIX,
    topk.FIX,
)
