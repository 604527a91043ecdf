"""Constant with a number or a list of numbers in place of a tensor.

Stock's converter knows the attribute `value` only. Exporters and the functions of ONNX itself write
`value_int`, `value_float`, `value_ints` and `value_floats` as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node

Previous = Callable[[Node], Any]

_DTYPES = {
    "value_int": "int64",
    "value_ints": "int64",
    "value_float": "float32",
    "value_floats": "float32",
}


def constant(node: Node, previous: Previous) -> Any:
    """A scalar, or a list, of int64 or float32."""
    for name, dtype in _DTYPES.items():
        if name in node.attributes:
            return relax.const(np.array(node.attributes[name], dtype), dtype)
    return previous(node)


FIX = Fix(
    id="onnx_constant",
    what="the ONNX operator Constant with a number or a list of numbers stops",
    op="ONNX Constant",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"Constant": constant}),
    probe=lambda: _frontend.holds_expressions()
    and "value_int" not in _frontend.converter("Constant"),
    needs_torch=False,
)
