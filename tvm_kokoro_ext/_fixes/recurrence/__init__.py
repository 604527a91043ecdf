"""Recurrent layers, as loops over time."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.recurrence import lengths, lstm

FIXES: tuple[Fix, ...] = (lstm.FIX, lengths.FIX)
