"""Normalizations: layer, group and instance norm."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.normalization import (
    group_norm,
    instance_norm,
    layer_norm,
    native_statistics,
)

FIXES: tuple[Fix, ...] = (
    layer_norm.FIX,
    native_statistics.FIX,
    instance_norm.FIX,
    group_norm.FIX,
)
