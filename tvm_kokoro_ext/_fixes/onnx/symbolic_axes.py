"""Squeeze without axes, PRelu of one slope, and TopK and Split by symbolic sizes.

A symbolic size is not taken for 1, so that Squeeze removes the axes that have one element for sure.
Stock leaves a squeeze that does not build, and cannot repeat one slope along a symbolic axis. Its
TopK and Split take constants only, and its TopK no order but that of the values.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import relax, te
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _elements, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node, int64, known_dims
from tvm_kokoro_ext._fixes.onnx._known import Known

Previous = Callable[[Node], Any]


def _symbolic(node: Node) -> bool:
    dims = known_dims(node.given(0))
    return dims is not None and any(_compat.as_int(dim) is None for dim in dims)


def squeeze(node: Node, previous: Previous) -> Any:
    """The axes of one element are those that have one for every size."""
    if node.given(1) is not None or "axes" in node.attributes or not _symbolic(node):
        return previous(node)
    x = node.tensor(0)
    ones = [axis for axis, dim in enumerate(_compat.shape_of(x)) if _compat.as_int(dim) == 1]
    return relax.op.squeeze(x, ones) if ones else x


def prelu(node: Node, previous: Previous) -> Any:
    """x where it is not negative, and x · slope elsewhere."""
    x, slope = node.tensor(0), node.tensor(1)
    dims = known_dims(slope)
    if dims is None or any(_compat.as_int(dim) != 1 for dim in dims) or not _symbolic(node):
        return previous(node)
    below = node.emit(relax.op.less(x, relax.const(0, _compat.dtype_of(x))))
    return relax.op.where(below, node.emit(relax.op.multiply(x, slope)), x)


def top_k(node: Node, previous: Previous) -> Any:
    """As many as a graph counts: all in their order, of which the first are taken."""
    # Any order will do where none is asked for.
    node = replace(node, attributes=node.attributes | {"sorted": 1})
    known, dims = node.known(1), known_dims(node.given(0))
    if known is None or known.constant or dims is None or known.values.size != 1:
        return previous(node)
    axis = node.attributes.get("axis", -1) % len(dims)
    count = _elements.smaller(known.integers()[0], dims[axis])
    every = relax.const(np.array([-1]), "int64")
    made = node.emit(previous(node.with_inputs(node.tensor(0), every)))
    both = [node.emit(relax.TupleGetItem(made, at)) for at in range(2)]
    return relax.Tuple([_part(node, value, axis, 0, count) for value in both])


def split(node: Node, previous: Previous) -> Any:
    """Parts of sizes that a graph computes; a call in which they are not the whole raises."""
    known, dims = node.known(1), known_dims(node.given(0))
    if known is None or known.constant or dims is None or isinstance(node.given(0), Known):
        return previous(node)
    axis, sizes = node.attributes.get("axis", 0) % len(dims), known.integers()
    whole = _elements.simplified(functools.reduce(operator.add, sizes))
    x = node.given(0)
    if not _elements.same_size(whole, dims[axis]):
        wanted = [int64(whole if place == axis else dim) for place, dim in enumerate(dims)]
        x = _emit.with_sizes(node.builder, node.emit(x), wanted)
    parts, start = [], 0
    for size in sizes:
        parts.append(_part(node, x, axis, start, size))
        start = _elements.simplified(start + size)
    return parts[0] if len(parts) == 1 else relax.Tuple(parts)


def _part(node: Node, value: Any, axis: int, start: Any, size: Any) -> Any:
    """`size` places of an axis from `start` on, which the tensor has."""

    def compute(data: Any, start: Any, size: Any) -> Any:
        shape = [size if place == axis else dim for place, dim in enumerate(data.shape)]

        def element(*at: Any) -> Any:
            return data(*[i + start if place == axis else i for place, i in enumerate(at)])

        return te.compute(tuple(shape), element, name="part")

    return node.builder.emit_te(
        compute, value, int64(start), int64(size), primfunc_name_hint="onnx_part"
    )


FIX = Fix(
    id="onnx_symbolic_axes",
    what="ONNX Squeeze without axes, and PRelu of one slope, do not build with symbolic sizes",
    op="ONNX Squeeze, ONNX PRelu, ONNX TopK, ONNX Split",
    affected=">=0.27",
    install=lambda: _converters.laid_over(
        {"Squeeze": squeeze, "PRelu": prelu, "TopK": top_k, "Split": split}
    ),
    probe=lambda: _frontend.holds_expressions()
    and "relax.op.nn.prelu(x, slope, ndim - 1)" in _frontend.converter("PRelu"),
    needs_torch=False,
)
