"""BatchNormalization in training mode: the statistics that it gives, by ONNX's formula.

Stock takes the momentum for its complement, as PyTorch has it. Before opset 14 a node in training
says so by its number of results, of which stock makes those of evaluation.
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


def batch_norm(node: Node, previous: Previous) -> Any:
    """y, and mean and variance moved towards those of the batch (the variance is of all rows)."""
    if not node.attributes.get("training_mode", 0):
        if node.outputs > 1 and node.opset < 14:
            reason = f"it is that of training of opset {node.opset}"
            raise _frontend.refusal("BatchNormalization", reason, "Export the model in evaluation")
        return previous(node)
    x, scale, bias, mean, variance = (node.tensor(at) for at in range(5))
    dtype = _compat.dtype_of(x)
    if any(_compat.dtype_of(t) != dtype for t in (scale, bias, mean, variance)):
        return previous(node)
    axes = [axis for axis in range(_compat.rank_of(x)) if axis != 1]
    of_batch = node.emit(relax.op.mean(x, axes, keepdims=True))
    centred = node.emit(relax.op.subtract(x, of_batch))
    squares = node.emit(relax.op.multiply(centred, centred))
    spread = node.emit(relax.op.mean(squares, axes, keepdims=True))
    epsilon = relax.const(node.attributes.get("epsilon", 1e-5), dtype)
    root = node.emit(relax.op.sqrt(node.emit(relax.op.add(spread, epsilon))))
    y = node.emit(relax.op.divide(centred, root))
    channels = [1, -1] + [1] * (_compat.rank_of(x) - 2)
    y = node.emit(relax.op.multiply(y, node.emit(relax.op.reshape(scale, channels))))
    y = node.emit(relax.op.add(y, node.emit(relax.op.reshape(bias, channels))))
    momentum = float(node.attributes.get("momentum", 0.9))

    def moved(kept: Any, found: Any) -> Any:
        flat = node.emit(relax.op.reshape(found, [-1]))
        old = node.emit(relax.op.multiply(kept, relax.const(momentum, dtype)))
        new = node.emit(relax.op.multiply(flat, relax.const(1 - momentum, dtype)))
        return node.emit(relax.op.add(old, new))

    return relax.Tuple([y, moved(mean, of_batch), moved(variance, spread)])


FIX = Fix(
    id="onnx_batch_norm",
    what="the statistics of ONNX BatchNormalization in training mode are moved the wrong way",
    op="ONNX BatchNormalization",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"BatchNormalization": batch_norm}),
    probe=lambda: _frontend.holds_expressions()
    and "momentum=momentum" in _frontend.converter("BatchNormalization"),
    needs_torch=False,
)
