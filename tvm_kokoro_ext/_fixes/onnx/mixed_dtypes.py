"""Pow of operands of two dtypes, EyeLike of another dtype than its input's, and Equal of bools.

ONNX computes Pow in the dtype of the base, or in that of the exponent where only the exponent is
a float, and gives the dtype of the base. Stock stops at both, and its comparison of bools for
equality does not build.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node
from tvm_kokoro_ext._fixes.onnx._known import Known

Previous = Callable[[Node], Any]


def power(node: Node, previous: Previous) -> Any:
    """The base's dtype, whatever the exponent's."""
    base, exponent = node.tensor(0), node.tensor(1)
    dtype, other = _compat.dtype_of(base), _compat.dtype_of(exponent)
    if dtype == other:
        return previous(node)
    common = other if "float" in other and "float" not in dtype else dtype
    both = [node.emit(relax.op.astype(value, common)) for value in (base, exponent)]
    made = node.emit(previous(replace(node, inputs=both)))
    return made if common == dtype else relax.op.astype(made, dtype)


def eye_like(node: Node, previous: Previous) -> Any:
    """Ones on a diagonal, in the dtype that the attribute names."""
    attributes = dict(node.attributes)
    wanted = attributes.pop("dtype", None)
    made = previous(replace(node, attributes=attributes))
    if wanted is None:
        return made
    return relax.op.astype(node.emit(made), _frontend.module().get_type(wanted))


def equal(node: Node, previous: Previous) -> Any:
    """Two bools are equal where not just one of them is true."""
    if isinstance(node.given(0), Known) and isinstance(node.given(1), Known):
        return previous(node)
    operands = [node.tensor(at) for at in range(2)]
    if _compat.dtype_of(operands[0]) != "bool":
        return previous(node)
    return relax.op.logical_not(node.emit(relax.op.logical_xor(*operands)))


FIX = Fix(
    id="onnx_mixed_dtypes",
    what="ONNX Pow of two dtypes, EyeLike of another than its input's, and Equal of bools stop",
    op="ONNX Pow, ONNX EyeLike, ONNX Equal",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"Pow": power, "EyeLike": eye_like, "Equal": equal}),
    probe=lambda: _frontend.holds_expressions()
    and "dtype mismatch" in _frontend.converter("EyeLike"),
    needs_torch=False,
)
