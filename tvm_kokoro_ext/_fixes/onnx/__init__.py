"""The ONNX frontend: operators that it lacks, and models that it cannot read."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import broken_model, lstm, random_inputs

FIXES: tuple[Fix, ...] = (lstm.FIX, random_inputs.FIX, broken_model.FIX)
