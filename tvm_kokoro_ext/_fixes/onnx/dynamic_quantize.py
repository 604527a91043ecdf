"""DynamicQuantizeLinear of zeros, whose scale is 0 in stock, so that 0 / 0 becomes 255.

ONNX Runtime takes 1 as the scale of a tensor without a range, and every zero is its zero point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend, _quantized
from tvm_kokoro_ext._fixes.onnx._converters import Node

Previous = Callable[[Node], Any]


def quantize(node: Node, previous: Previous) -> Any:
    """y, its scale and its zero point."""
    return relax.Tuple(list(_quantized.dynamically(node.builder, node.tensor(0))))


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
