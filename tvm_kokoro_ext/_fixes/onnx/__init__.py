"""The ONNX frontend: operators that it lacks, sizes, and models that it cannot read."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import (
    batch_norm,
    broadcast,
    broken_model,
    constant,
    dropout,
    is_inf,
    layer_norm,
    lstm,
    pad,
    random_inputs,
    resize,
    shapes,
    sizes,
    slicing,
)

FIXES: tuple[Fix, ...] = (
    lstm.FIX,
    random_inputs.FIX,
    broken_model.FIX,
    sizes.FIX,
    shapes.FIX,
    slicing.FIX,
    pad.FIX,
    resize.FIX,
    broadcast.FIX,
    constant.FIX,
    layer_norm.FIX,
    is_inf.FIX,
    dropout.FIX,
    batch_norm.FIX,
)
