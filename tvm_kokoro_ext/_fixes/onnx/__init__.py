"""The ONNX frontend: operators that it lacks, sizes, and models that it cannot read."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import (
    batch_norm,
    bit_shift,
    broadcast,
    broken_model,
    constant,
    conv_transpose,
    dropout,
    extremes,
    is_inf,
    layer_norm,
    lstm,
    modulo,
    non_max_suppression,
    pad,
    random_inputs,
    resize,
    roi_align,
    shapes,
    sizes,
    slicing,
    space_to_depth,
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
    bit_shift.FIX,
    conv_transpose.FIX,
    extremes.FIX,
    modulo.FIX,
    non_max_suppression.FIX,
    roi_align.FIX,
    space_to_depth.FIX,
)
