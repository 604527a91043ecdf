"""Pow of integers or of two dtypes, EyeLike of another dtype than its input's, and Equal of bools.

ONNX computes Pow in the dtype of the base, or in that of the exponent where only the exponent is
a float, and gives the dtype of the base. Stock stops at both, and its power of integers and its
comparison of bools for equality do not build.
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
    if "int" in dtype and "int" in other:
        evaluated = isinstance(node.given(0), Known) and isinstance(node.given(1), Known)
        return previous(node) if evaluated else _whole_power(node)
    if dtype == other:
        return previous(node)
    common = other if "float" in other and "float" not in dtype else dtype
    both = [node.emit(relax.op.astype(value, common)) for value in (base, exponent)]
    made = node.emit(previous(replace(node, inputs=both)))
    return made if common == dtype else relax.op.astype(made, dtype)


_BITS = 7
"""Of an exponent. Beyond them count whether it is odd only: powers that do not overflow agree."""


def _whole_power(node: Node) -> Any:
    """Integers to the power of integers, modulo the range of the base's dtype.

    Powers of an exponent below 0 are rounded toward 0; those of 0, which are infinite, are 0.
    """
    base, exponent = node.tensor(0), node.emit(relax.op.astype(node.tensor(1), "int64"))
    dtype, known = _compat.dtype_of(base), node.known(1)
    bits, least = _BITS, -1
    if known is not None and known.constant and known.values.size:
        bits, least = int(max(known.values.flat)).bit_length(), min(known.values.flat)
    one = relax.const(1, "int64")
    odd = node.emit(relax.op.bitwise_and(exponent, one))
    far = node.emit(relax.op.greater(exponent, relax.const((1 << _BITS) - 1, "int64")))
    most = node.emit(relax.op.add(odd, relax.const((1 << _BITS) - 2, "int64")))
    below = node.emit(relax.op.less(exponent, relax.const(0, "int64")))
    exponent = node.emit(relax.op.where(below, odd, exponent))
    exponent = node.emit(relax.op.where(far, most, exponent))
    single = node.emit(relax.op.ones_like(base))
    made, square = single, base
    for bit in range(min(max(bits, 1), _BITS)):
        factor = node.emit(relax.op.bitwise_and(exponent, relax.const(1 << bit, "int64")))
        taken = node.emit(relax.op.greater(factor, relax.const(0, "int64")))
        made = node.emit(relax.op.multiply(made, node.emit(relax.op.where(taken, square, single))))
        square = node.emit(relax.op.multiply(square, square))
    if least >= 0:
        return made
    unit = node.emit(relax.op.equal(base, relax.const(1, dtype)))
    if dtype.startswith("int"):
        minus = node.emit(relax.op.equal(base, relax.const(-1, dtype)))
        unit = node.emit(relax.op.logical_or(unit, minus))
    whole = node.emit(relax.op.logical_or(unit, node.emit(relax.op.logical_not(below))))
    return relax.op.where(whole, made, relax.const(0, dtype))


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
