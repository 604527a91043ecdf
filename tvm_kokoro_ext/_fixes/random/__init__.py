"""Random tensors and dropout: what is drawn anew at each call."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.random import dropout, random_tensors

FIXES: tuple[Fix, ...] = (
    random_tensors.FIX,
    dropout.FIX,
)
