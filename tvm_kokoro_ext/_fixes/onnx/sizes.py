"""What an ONNX graph computes of sizes: `Shape`, and arithmetic of what it gives.

Stock's frontend has a few operators that take a shape or one of its elements, and stops at any
other, or makes a tensor of unknown shape of it, at which a later operator stops. Here sizes are
followed through the graph as symbolic expressions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _elements, _frontend, _known
from tvm_kokoro_ext._fixes.onnx._converters import Node, known_dims

Previous = Callable[[Node], Any]


def evaluated(node: Node, previous: Previous) -> Any:
    """Any operator: evaluated at import if all its inputs are sizes and constants."""
    known = node.evaluated()
    return previous(node) if known is None else known


def shape(node: Node, previous: Previous) -> Any:
    """Shape, with start and end since opset 15."""
    dims = known_dims(node.given(0))
    if dims is None:
        return previous(node)
    start, end = node.attributes.get("start", 0), node.attributes.get("end")
    return _known.known_sizes(dims[start:end])


def size(node: Node, previous: Previous) -> Any:
    """Size: the number of elements, a scalar."""
    dims = known_dims(node.given(0))
    if dims is None:
        return previous(node)
    product: Any = 1
    for dim in dims:
        product = product * dim
    return _known.known_scalar(_elements.simplified(product))


FIX = Fix(
    id="onnx_sizes",
    what="an ONNX graph that computes with symbolic sizes stops, or loses its shapes",
    op="ONNX Shape, Size and what is computed of them",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"*": evaluated, "Shape": shape, "Size": size}),
    probe=lambda: _frontend.holds_expressions()
    and "cannot handle ShapeExpr inputs" in _frontend.text(),
    needs_torch=False,
)
