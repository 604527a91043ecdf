"""Zeros that TVM's simplifier does not see, which makes 0 of 0 * x for any x."""

from __future__ import annotations

import math
from typing import Any

from tvm_kokoro_ext._compat import tirx


def hidden(zero: float, dtype: str) -> Any:
    """0.0 or -0.0 of float32 or float64 as a number that LLVM knows.

    It is made of the bits of -0, because LLVM's code generator takes those of 0 for a pointer.
    """
    negative = tirx.reinterpret(dtype, tirx.min_value(dtype.replace("float", "int")))
    return negative if math.copysign(1.0, zero) < 0 else negative * tirx.const(-1.0, dtype)


def product(factor: float, operand: Any, dtype: str) -> Any:
    """factor * operand, an expression of float32 or float64, which is NaN for 0 * infinity."""
    if factor == 1:
        return operand
    return (hidden(factor, dtype) if factor == 0 else tirx.const(factor, dtype)) * operand
