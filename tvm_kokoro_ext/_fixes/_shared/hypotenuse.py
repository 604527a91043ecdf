"""The length of a vector of two numbers."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import tirx
from tvm_kokoro_ext._fixes._shared import extremum


def hypot(x: Any, y: Any) -> Any:
    """sqrt(x² + y²) without overflow; infinite if either operand is, even if the other is NaN."""
    large = extremum.maximum(tirx.abs(x), tirx.abs(y))
    small = extremum.minimum(tirx.abs(x), tirx.abs(y))
    dtype = _compat.prim_dtype(large)
    zero, one = (tirx.const(v, dtype) for v in (0.0, 1.0))
    ratio = small / tirx.if_then_else(large == zero, one, large)
    length = large * tirx.sqrt(one + ratio * ratio)
    infinite = tirx.any(tirx.isinf(x), tirx.isinf(y))
    return tirx.if_then_else(infinite, tirx.infinity(dtype), length)
