"""NaN in Clip, Sign and TopK, and -infinity in ThresholdedRelu, as in ONNX Runtime.

Stock's Clip of NaN is a bound and its Sign 0; TopK sorts with `<`, which is no order beside NaN;
ThresholdedRelu multiplies by 0 or 1, which makes NaN of an infinity.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import extremum
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node
from tvm_kokoro_ext._fixes.sorting import nan_order

Previous = Callable[[Node], Any]


def kept(node: Node, previous: Previous) -> Any:
    """What stock gives, and NaN for NaN."""
    x = node.tensor(0)
    if _compat.dtype_of(x) not in extremum.FLOATS:
        return previous(node)
    made = node.emit(previous(node))
    return relax.op.where(node.emit(relax.op.isnan(x)), x, made)


def thresholded_relu(node: Node, previous: Previous) -> Any:
    """x where it is above alpha, and 0 elsewhere, for NaN as well."""
    x = node.tensor(0)
    dtype = _compat.dtype_of(x)
    alpha = relax.const(float(node.attributes.get("alpha", 1.0)), dtype)
    above = node.emit(relax.op.greater(x, alpha))
    return relax.op.where(above, x, relax.const(0, dtype))


def top_k(node: Node, previous: Previous) -> Any:
    """The largest or smallest of integers in the order of the numbers, of which NaN is the last."""
    x = node.tensor(0)
    dtype = _compat.dtype_of(x)
    if dtype not in extremum.FLOATS:
        return previous(node)
    keys = node.builder.emit_te(extremum.keys, x, primfunc_name_hint="key")
    made = node.emit(previous(node.with_inputs(keys, *node.inputs[1:])))
    chosen, places = (node.emit(relax.TupleGetItem(made, at)) for at in range(2))
    numbers = partial(extremum.numbers, dtype=dtype)
    values = node.builder.emit_te(numbers, chosen, primfunc_name_hint="number")
    return relax.Tuple([values, places])


def _still_wrong() -> bool:
    """Whether one of the converters takes NaN for a number. TopK sorts as TVM sorts elsewhere."""
    return (
        not all("nan(x" in _frontend.converter(name) for name in ("Clip", "Sign"))
        or "where" not in _frontend.converter("ThresholdedRelu")
        or nan_order.misplaces_nan()
    )


FIX = Fix(
    id="onnx_nan",
    what="ONNX Clip, Sign and TopK drop NaN; ThresholdedRelu of -infinity is NaN",
    op="ONNX Clip, ONNX Sign, ONNX TopK, ONNX ThresholdedRelu",
    affected=">=0.27",
    install=lambda: _converters.laid_over(
        {"Clip": kept, "Sign": kept, "TopK": top_k, "ThresholdedRelu": thresholded_relu}
    ),
    probe=lambda: _frontend.holds_expressions() and _still_wrong(),
    needs_torch=False,
)
