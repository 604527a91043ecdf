"""Dropout: the mask is of bool, and a training mode that draws numbers is refused.

Stock reads no training mode and gives a mask of the input's dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node
from tvm_kokoro_ext._fixes.onnx._known import Known

Previous = Callable[[Node], Any]
_refuse = partial(_frontend.refusal, "Dropout")


def dropout(node: Node, previous: Previous) -> Any:
    """In inference the input itself, and a mask that keeps everything."""
    x = node.tensor(0)
    training = node.known(2)
    if node.given(2) is not None and (training is None or not training.constant):
        raise _refuse("its training mode is an input", "Make it a constant")
    ratio = node.known(1)
    drops = node.given(1) is None or ratio is None or _number(ratio) != 0
    if training is not None and _number(training) and drops:
        raise _refuse("it is in training mode, and draws numbers", "Export the model in evaluation")
    if node.outputs < 2:
        return x
    dtype = "bool" if node.opset >= 10 else _compat.dtype_of(x)
    ones = relax.op.full_like(x, relax.const(1, dtype), dtype)
    return relax.Tuple([x, node.emit(ones)])


def _number(value: Known) -> float:
    return float(value.values.ravel()[0])


FIX = Fix(
    id="onnx_dropout",
    what="ONNX Dropout reads no training mode, and its mask has the dtype of the input",
    op="ONNX Dropout",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"Dropout": dropout}),
    probe=lambda: _frontend.holds_expressions()
    and "nn.dropout(inputs[0]" in _frontend.converter("Dropout"),
    needs_torch=False,
)
