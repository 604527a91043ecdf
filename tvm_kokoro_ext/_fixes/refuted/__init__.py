"""Complaints that were checked and hold on no supported version: never applied."""

from __future__ import annotations

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.refuted import leaky_relu_and_cat

FIXES: tuple[Fix, ...] = (
    leaky_relu_and_cat.LEAKY_RELU,
    leaky_relu_and_cat.CAT,
)
