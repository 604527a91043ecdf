"""Recurrent layers, as loops over time."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.recurrence import gru, lengths, lstm

FIXES: tuple[Fix, ...] = (lstm.FIX, gru.FIX, lengths.FIX)
