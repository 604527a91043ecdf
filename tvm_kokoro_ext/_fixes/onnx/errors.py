"""Nodes that stock has no converter for, or one that cannot take them: refused by name.

Stock passes on whatever its converter raises, mostly a TypeError or an assertion of TVM that names
neither the node nor a way around. Of operators without a converter it does not name the domain.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _replace
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
_OTHER_WAY = (
    "Write it with ONNX's operators, or add it to the model as a function (ModelProto.functions)"
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
    if node.outputs > 1 and isinstance(made, relax.Tuple) and len(made.fields) < node.outputs:
        reason = f"TVM gives only {len(made.fields)} of its {node.outputs} results"
        raise _frontend.refusal(operator, reason, _WAY)
    if not _compat.is_tensor(made):
        return made
    if node.outputs > 1 and not isinstance(made, relax.Tuple):
        reason = f"TVM gives only the first of its {node.outputs} results"
        raise _frontend.refusal(operator, reason, _WAY)
    if (dtype := _compat.dtype_of(made)) in _PARTS_OF_BYTES:
        reason = f"it gives {dtype}, of which TVM has no tensors"
        raise _frontend.refusal(operator, reason, "Give it as int8 or uint8")
    return made


def _naming_domains(original: Callable[..., None]) -> Callable[..., None]:
    """The importer's check of a graph's operators, with their domains and a way around."""

    def _check_for_unsupported_ops(self: Any, graph: Any) -> None:
        try:
            original(self, graph)
        except _compat.tvm.error.OpNotImplemented as error:
            named = {f"{node.domain}.{node.op_type}".strip(".") for node in graph.node}
            lacking = [n for n in sorted(named) if n.rpartition(".")[2] in _words(str(error))]
            raise _frontend.refusal(
                ", ".join(lacking), "TVM has no converter of it", _OTHER_WAY
            ) from error

    return _check_for_unsupported_ops


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def _check_of_operators() -> Callable[[], None]:
    checks = _frontend.module().ONNXGraphImporter._check_for_unsupported_ops
    return _replace.in_place({checks: _naming_domains})


FIX = Fix(
    id="onnx_errors",
    what="a node of an ONNX graph that cannot be converted raises an error that does not name it",
    op="ONNX operators",
    affected=">=0.27",
    install=lambda: _frontend.both(
        _converters.laid_over({"*": named}), _frontend.when_imported(_check_of_operators)
    ),
    probe=lambda: _frontend.holds_expressions()
    and 'print(f"Error converting operator' in _frontend.text(),
    needs_torch=False,
)
