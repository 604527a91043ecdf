"""Operands and results of a dtype that stock does not expect."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.dtypes import bool_operands, creation, fill_value, where

FIXES: tuple[Fix, ...] = (
    where.FIX,
    creation.FIX,
    fill_value.FIX,
    bool_operands.FIX,
)
