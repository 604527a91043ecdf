"""SpaceToDepth of columns and rows first, which stock takes for depth first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node

Previous = Callable[[Node], Any]


def space_to_depth(node: Node, previous: Previous) -> Any:
    """Channel (c, row, column) of a block where the mode is CRD, and (row, column, c) without."""
    if node.text("mode", "DCR") != "CRD":
        return previous(node)
    x, block = node.tensor(0), int(node.attributes["blocksize"])
    batch, channels, height, width = _compat.shape_of(x)
    blocks = node.emit(
        relax.op.reshape(x, [batch, channels, height // block, block, width // block, block])
    )
    ordered = node.emit(relax.op.permute_dims(blocks, [0, 1, 3, 5, 2, 4]))
    sizes = [batch, channels * block * block, height // block, width // block]
    return relax.op.reshape(ordered, sizes)


FIX = Fix(
    id="onnx_space_to_depth",
    what="ONNX SpaceToDepth ignores its mode",
    op="ONNX SpaceToDepth",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"SpaceToDepth": space_to_depth}),
    probe=lambda: _frontend.holds_expressions()
    and "CRD" not in _frontend.converter("SpaceToDepth"),
    needs_torch=False,
)
