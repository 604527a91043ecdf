"""Squeeze without axes, and PRelu of one slope, of a tensor whose sizes are symbolic.

A symbolic size is not taken for 1, so that Squeeze removes the axes that have one element for sure.
Stock leaves a squeeze that does not build, and cannot repeat one slope along a symbolic axis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node, known_dims

Previous = Callable[[Node], Any]


def _symbolic(node: Node) -> bool:
    dims = known_dims(node.given(0))
    return dims is not None and any(_compat.as_int(dim) is None for dim in dims)


def squeeze(node: Node, previous: Previous) -> Any:
    """The axes of one element are those that have one for every size."""
    if node.given(1) is not None or "axes" in node.attributes or not _symbolic(node):
        return previous(node)
    x = node.tensor(0)
    ones = [axis for axis, dim in enumerate(_compat.shape_of(x)) if _compat.as_int(dim) == 1]
    return relax.op.squeeze(x, ones) if ones else x


def prelu(node: Node, previous: Previous) -> Any:
    """x where it is not negative, and x · slope elsewhere."""
    x, slope = node.tensor(0), node.tensor(1)
    dims = known_dims(slope)
    if dims is None or any(_compat.as_int(dim) != 1 for dim in dims) or not _symbolic(node):
        return previous(node)
    below = node.emit(relax.op.less(x, relax.const(0, _compat.dtype_of(x))))
    return relax.op.where(below, node.emit(relax.op.multiply(x, slope)), x)


FIX = Fix(
    id="onnx_symbolic_axes",
    what="ONNX Squeeze without axes, and PRelu of one slope, do not build with symbolic sizes",
    op="ONNX Squeeze, ONNX PRelu",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"Squeeze": squeeze, "PRelu": prelu}),
    probe=lambda: _frontend.holds_expressions()
    and "relax.op.nn.prelu(x, slope, ndim - 1)" in _frontend.converter("PRelu"),
    needs_torch=False,
)
