"""IsInf of one sign only, which stock takes for both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node

Previous = Callable[[Node], Any]


def is_inf(node: Node, previous: Previous) -> Any:
    """Equal to the infinities that the attributes ask for."""
    wanted = [
        value
        for name, value in (("detect_positive", np.inf), ("detect_negative", -np.inf))
        if node.attributes.get(name, 1)
    ]
    if len(wanted) == 2:
        return previous(node)
    x = node.tensor(0)
    if not wanted:
        return node.emit(relax.op.zeros(_compat.type_of(x).shape, "bool"))
    return relax.op.equal(x, relax.const(wanted[0], _compat.dtype_of(x)))


FIX = Fix(
    id="onnx_isinf",
    what="ONNX IsInf of one sign finds both",
    op="ONNX IsInf",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"IsInf": is_inf}),
    probe=lambda: _frontend.holds_expressions()
    and "detect_negative" not in _frontend.converter("IsInf"),
    needs_torch=False,
)
