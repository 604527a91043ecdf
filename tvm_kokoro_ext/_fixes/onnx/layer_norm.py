"""LayerNormalization with its second and third outputs, the mean and the inverse deviation.

Stock gives a 0 for both.
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


def layer_norm(node: Node, previous: Previous) -> Any:
    """The statistics are of float32, as the attribute `stash_type` has it by default."""
    first = previous(node)
    if node.outputs < 2:
        return first
    x = node.tensor(0)
    rank = _compat.rank_of(x)
    axis = node.attributes.get("axis", -1)
    axes = list(range(axis + rank if axis < 0 else axis, rank))
    if _compat.dtype_of(x) not in ("float32", "float64"):
        x = node.emit(relax.op.astype(x, "float32"))
    mean = node.emit(relax.op.mean(x, axes, keepdims=True))
    centred = node.emit(relax.op.subtract(x, mean))
    squares = node.emit(relax.op.multiply(centred, centred))
    variance = node.emit(relax.op.mean(squares, axes, keepdims=True))
    epsilon = relax.const(node.attributes.get("epsilon", 1e-5), _compat.dtype_of(x))
    inverse = node.emit(relax.op.rsqrt(node.emit(relax.op.add(variance, epsilon))))
    result = first[0] if isinstance(first, relax.Tuple) else first
    return relax.Tuple([node.emit(result), mean, inverse])


FIX = Fix(
    id="onnx_layer_norm",
    what="the mean and the deviation that ONNX LayerNormalization gives are 0",
    op="ONNX LayerNormalization",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"LayerNormalization": layer_norm}),
    probe=lambda: _frontend.holds_expressions()
    and "placeholder" in _frontend.converter("LayerNormalization"),
    needs_torch=False,
)
