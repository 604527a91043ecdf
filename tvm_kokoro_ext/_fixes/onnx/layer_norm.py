"""Normalizations: LayerNormalization's statistics, and RMSNormalization of a whole tensor.

Stock gives a 0 for the second and third output of LayerNormalization, the mean and the inverse
deviation. Its kernel of RMSNormalization has to keep an axis, and both need a scale of every size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _elements, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node, int64, known_dims

Previous = Callable[[Node], Any]


def layer_norm(node: Node, previous: Previous) -> Any:
    """The statistics are of float32, as the attribute `stash_type` has it by default."""
    first = previous(_of_all_sizes(node))
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


def _of_all_sizes(node: Node) -> Node:
    """The node with a scale and a bias, if it has one, of the sizes that are normalized."""
    dims = known_dims(node.given(0))
    if dims is None:
        return node
    sizes = dims[node.attributes.get("axis", -1) :]
    inputs = list(node.inputs)
    for at in range(1, len(inputs)):
        own = None if inputs[at] is None else known_dims(inputs[at])
        if own is None or not _smaller(own, sizes):
            continue
        shape = relax.ShapeExpr([int64(size) for size in sizes])
        inputs[at] = node.emit(relax.op.broadcast_to(node.tensor(at), shape))
    return replace(node, inputs=inputs)


def _smaller(own: Sequence[Any], sizes: Sequence[Any]) -> bool:
    """Whether a tensor has to be broadcast to these sizes, and can be."""
    behind = sizes[len(sizes) - len(own) :]
    same = list(map(_elements.same_size, own, behind))
    ones = [isinstance(size, int) and size == 1 for size in own]
    fits = all(equal or one for equal, one in zip(same, ones, strict=True))
    return fits and (len(own) < len(sizes) or not all(same))


def rms_norm(node: Node, previous: Previous) -> Any:
    """With one more axis before those that are normalized, and a scale of all their sizes."""
    scaled = _of_all_sizes(node)
    axis = node.attributes.get("axis", -1)
    if axis not in (0, -(_compat.rank_of(node.tensor(0)) or 0)):
        return previous(scaled)
    x = node.emit(relax.op.expand_dims(node.tensor(0), 0))
    inner = replace(node, inputs=[x, scaled.tensor(1)], attributes=node.attributes | {"axis": 1})
    return relax.op.squeeze(node.emit(previous(inner)), 0)


FIX = Fix(
    id="onnx_layer_norm",
    what="the statistics of ONNX LayerNormalization are 0; RMSNormalization of all axes stops",
    op="ONNX LayerNormalization, ONNX RMSNormalization",
    affected=">=0.27",
    install=lambda: _converters.laid_over(
        {"LayerNormalization": layer_norm, "RMSNormalization": rms_norm}
    ),
    probe=lambda: _frontend.holds_expressions()
    and "placeholder" in _frontend.converter("LayerNormalization"),
    needs_torch=False,
)
