"""Half precision: operators compute in float32 and round once."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.precision import half_precision

FIXES: tuple[Fix, ...] = (half_precision.FIX,)
