"""Nodes that a converter of stock cannot take: refused by name, with what the converter says.

Stock passes on whatever its converter raises, mostly a TypeError or an assertion of TVM that names
neither the node nor a way around.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._errors import UnsupportedOperatorError
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node

Previous = Callable[[Node], Any]

_WAY = (
    "Write the node with other operators, for instance by onnxsim or onnx.version_converter, or "
    "give its inputs as constants and its sizes as numbers (shape_dict)"
)
_PARTS_OF_BYTES = ("int2", "uint2", "int4", "uint4", "float4_e2m1fn")


def named(node: Node, previous: Previous) -> Any:
    """Any operator: what its converter raises becomes a refusal, and so does a missing result."""
    name = node.attributes["tvm_custom"]["name"]
    operator = node.operator + (f" (node {name!r})" if name else "")
    try:
        made = previous(node)
    except UnsupportedOperatorError:
        raise
    except Exception as error:
        found = " ".join(str(error).split()) or "no message"
        reason = f"its converter failed with {type(error).__name__}: {found[:500]}"
        raise _frontend.refusal(operator, reason, _WAY) from error
    if not _compat.is_tensor(made):
        return made
    if node.outputs > 1 and not isinstance(made, relax.Tuple):
        reason = f"TVM gives only the first of its {node.outputs} results"
        raise _frontend.refusal(operator, reason, _WAY)
    if (dtype := _compat.dtype_of(made)) in _PARTS_OF_BYTES:
        reason = f"it gives {dtype}, of which TVM has no tensors"
        raise _frontend.refusal(operator, reason, "Give it as int8 or uint8")
    return made


FIX = Fix(
    id="onnx_errors",
    what="a node of an ONNX graph that cannot be converted raises an error that does not name it",
    op="ONNX operators",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"*": named}),
    probe=lambda: _frontend.holds_expressions()
    and 'print(f"Error converting operator' in _frontend.text(),
    needs_torch=False,
)
