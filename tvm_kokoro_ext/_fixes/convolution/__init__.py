"""Convolutions and their transposes."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.convolution import (
    conv_transpose3d,
    convolution,
    transposed_dilation,
    transposed_phases,
)

FIXES: tuple[Fix, ...] = (
    convolution.FIX,
    conv_transpose3d.FIX,
    transposed_dilation.FIX,
    transposed_phases.FIX,
)
