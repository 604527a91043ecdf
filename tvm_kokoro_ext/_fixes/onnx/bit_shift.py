"""BitShift by negative counts or by the whole width and more, of which LLVM defines no result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node

Previous = Callable[[Node], Any]


def bit_shift(node: Node, previous: Previous) -> Any:
    """Every bit is shifted out by a count outside of the width: 0, or the sign to the right."""
    x, count = node.tensor(0), node.tensor(1)
    dtype = np.dtype(_compat.dtype_of(x))
    bits = dtype.itemsize * 8
    known = node.known(1)
    if known is not None and known.constant and all(0 <= n < bits for n in known.values.flat):
        return previous(node)
    within = node.emit(relax.op.less(count, relax.const(bits, str(dtype))))
    if dtype.kind == "i":
        positive = node.emit(relax.op.greater_equal(count, relax.const(0, str(dtype))))
        within = node.emit(relax.op.logical_and(within, positive))
    count = node.emit(relax.op.where(within, count, relax.const(bits - 1, str(dtype))))
    shifted = node.emit(previous(replace(node, inputs=[x, count])))
    if dtype.kind == "i" and node.text("direction", "LEFT") == "RIGHT":
        return shifted
    return relax.op.where(within, shifted, relax.const(0, str(dtype)))


FIX = Fix(
    id="onnx_bit_shift",
    what="ONNX BitShift by negative or too many bits gives anything",
    op="ONNX BitShift",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"BitShift": bit_shift}),
    probe=lambda: _frontend.holds_expressions()
    and "relax.op.where" not in _frontend.converter("BitShift"),
    needs_torch=False,
)
