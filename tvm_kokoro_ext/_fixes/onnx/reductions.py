"""ReduceL1, ReduceL2, ReduceLogSum, ReduceSumSquare and ReduceMean over no axes and of integers.

With noop_with_empty_axes and no axes, an operator leaves out the sum only, and stock leaves out its
function of each element, too. Of integers ReduceL2 stops, and ReduceMean is int64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node

Previous = Callable[[Node], Any]

_OF_ELEMENTS = {
    "ReduceL1": relax.op.abs,
    "ReduceL2": relax.op.abs,
    "ReduceLogSum": relax.op.log,
    "ReduceSumSquare": relax.op.square,
}
_COMPUTED_IN_FLOAT = ("ReduceL2", "ReduceMean")


def _reduces_nothing(node: Node) -> bool:
    if not node.attributes.get("noop_with_empty_axes", 0):
        return False
    axes = node.known(1)
    return node.given(1) is None or (axes is not None and axes.values.size == 0)


def reduce(node: Node, previous: Previous) -> Any:
    """The function of each element where nothing is reduced; floats where stock needs them."""
    x = node.tensor(0)
    if node.operator in _OF_ELEMENTS and _reduces_nothing(node):
        return _OF_ELEMENTS[node.operator](x)
    dtype = _compat.dtype_of(x)
    if node.operator in _COMPUTED_IN_FLOAT and "int" in dtype:
        floats = node.emit(relax.op.astype(x, "float64"))
        made = previous(replace(node, inputs=[floats, *node.inputs[1:]]))
        return relax.op.astype(node.emit(made), dtype)
    return previous(node)


FIX = Fix(
    id="onnx_reductions",
    what="ONNX ReduceL1, L2, LogSum and SumSquare of no axes, L2 and Mean of integers are wrong",
    op="ONNX ReduceL1, ReduceL2, ReduceLogSum, ReduceSumSquare, ReduceMean",
    affected=">=0.27",
    install=lambda: _converters.laid_over(dict.fromkeys([*_OF_ELEMENTS, "ReduceMean"], reduce)),
    probe=lambda: _frontend.holds_expressions()
    and "return data" in _frontend.converter("ReduceL1"),
    needs_torch=False,
)
