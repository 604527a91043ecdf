"""Mod of floats with the sign of the divisor: exact, and NumPy's for infinite divisors and zeros.

Stock computes a - floor(a / b) · b, which rounds twice, and is NaN where b is infinite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node

Previous = Callable[[Node], Any]


def mod(node: Node, previous: Previous) -> Any:
    """The truncated remainder, which is exact, moved to the sign of the divisor (`npy_divmod`)."""
    x, y = node.tensor(0), node.tensor(1)
    dtype = _compat.dtype_of(x)
    if node.attributes.get("fmod", 0) or "float" not in dtype:
        return previous(node)
    wide = "float32" if dtype in ("float16", "bfloat16") else dtype
    x, y = (node.emit(relax.op.astype(value, wide)) for value in (x, y))
    zero = relax.const(0.0, wide)
    rest = node.emit(relax.op.mod(x, y))
    below = [node.emit(relax.op.less(value, zero)) for value in (rest, y)]
    differs = node.emit(relax.op.logical_xor(*below))
    moved = node.emit(relax.op.where(differs, node.emit(relax.op.add(rest, y)), rest))
    signed = node.emit(relax.op.where(below[1], node.emit(relax.op.negative(zero)), zero))
    is_zero = node.emit(relax.op.equal(rest, zero))
    made = node.emit(relax.op.where(is_zero, signed, moved))
    return relax.op.astype(made, dtype)


@_probe.wrong
def _still_wrong() -> bool:
    """Whether the remainder is a - floor(a / b) · b."""
    if not _frontend.holds_expressions():
        return False
    module = _probe.legalized(relax.op.floor_mod, _probe.Input((4,)), _probe.Input((4,)))
    kernels = [str(f) for name, f in module.functions_items() if name.name_hint != "main"]
    return not any("truncmod" in text or "fmod" in text for text in kernels)


FIX = Fix(
    id="onnx_mod",
    what="ONNX Mod of floats is NaN for infinite divisors, and rounds twice",
    op="ONNX Mod",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"Mod": mod}),
    probe=_still_wrong,
    needs_torch=False,
)
