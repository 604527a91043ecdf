"""DynamicQuantizeLinear of zeros, whose scale is 0 in stock, so that 0 / 0 becomes 255.

ONNX Runtime takes 1 as the scale of a tensor without a range, and every zero is its zero point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node

Previous = Callable[[Node], Any]


def quantize(node: Node, previous: Previous) -> Any:
    """y, its scale and its zero point."""
    x = node.tensor(0)
    dtype, emit = _compat.dtype_of(x), node.emit
    zero, one, most = (relax.const(number, dtype) for number in (0, 1, 255))
    high = emit(relax.op.maximum(zero, emit(relax.op.max(x))))
    low = emit(relax.op.minimum(zero, emit(relax.op.min(x))))
    spread = emit(relax.op.subtract(high, low))
    scale = emit(
        relax.op.where(emit(relax.op.equal(spread, zero)), one, emit(relax.op.divide(spread, most)))
    )
    place = emit(relax.op.subtract(zero, emit(relax.op.divide(low, scale))))
    rounded = emit(relax.op.round(emit(relax.op.clip(place, 0, 255))))
    zero_point = emit(relax.op.astype(rounded, "uint8"))
    y = emit(relax.op.quantize(x, scale, zero_point, axis=0, out_dtype="uint8"))
    return relax.Tuple([y, scale, zero_point])


FIX = Fix(
    id="onnx_dynamic_quantize",
    what="ONNX DynamicQuantizeLinear of zeros is 255",
    op="ONNX DynamicQuantizeLinear",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"DynamicQuantizeLinear": quantize}),
    probe=lambda: _frontend.holds_expressions()
    and "where" not in _frontend.converter("DynamicQuantizeLinear"),
    needs_torch=False,
)
