"""Squeeze without axes, PRelu of one slope, and TopK and Split by symbolic sizes.

A symbolic size is not taken for 1, so that Squeeze removes the axes that have one element for sure,
and raises in a call in which another has one.
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
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _computed, _converters, _elements, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node, int64, known_dims
from tvm_kokoro_ext._fixes.onnx._known import Known

Previous = Callable[[Node], Any]


def _symbolic(node: Node) -> bool:
    dims = known_dims(node.given(0))
    return dims is not None and any(_compat.as_int(dim) is None for dim in dims)


def unsqueeze(node: Node, previous: Previous) -> Any:
    """New axes, of which a model may name one by a number without dimensions."""
    known = node.known(1)
    if known is None or not known.constant or known.values.ndim:
        return previous(node)
    axes = relax.const(np.array(known.integers()), "int64")
    return previous(node.with_inputs(node.inputs[0], axes))


def squeeze(node: Node, previous: Previous) -> Any:
    """Without axes those that have one element for every size are removed.

    A call in which another one has one element raises, as its result has fewer axes. Of axes that
    are named, a symbolic one must have one element: any other call raises.
    """
    dims = known_dims(node.given(0))
    if dims is None or not _symbolic(node):
        return previous(node)
    x = node.tensor(0)
    if node.given(1) is None and "axes" not in node.attributes:
        ones = [axis for axis, dim in enumerate(dims) if _compat.as_int(dim) == 1]
        for size in dims:
            if not isinstance(size, int) and not _elements.proved(size != 1):
                _require_other_than_one(node, size)
        return relax.op.squeeze(x, ones) if ones else x
    known = node.known(1)
    named = node.attributes.get("axes") or (known.integers() if known and known.constant else ())
    axes = [axis % len(dims) for axis in named]
    if all(isinstance(dims[axis], int) for axis in axes):
        return previous(node)
    if any(isinstance(dims[axis], int) and dims[axis] != 1 for axis in axes):
        return previous(node)
    sizes = [int64(1 if axis in axes else dim) for axis, dim in enumerate(dims)]
    return relax.op.squeeze(_emit.with_sizes(node.builder, node.emit(x), sizes), axes)


def _require_other_than_one(node: Node, size: Any) -> None:
    """Raise in a call in which a size is 1, where a variable of it is compared with another."""
    variable = _compat.variables_of(size)[0]
    matched = variable + tirx.Cast("int64", tirx.EQ(size, int64(1)))
    node.builder.match_cast(relax.ShapeExpr([variable]), _compat.shape_type([matched]))


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
    wanted, dims = _sizes(node, lambda listed: listed), known_dims(node.given(0))
    if wanted is None or dims is None or len(wanted) != 1:
        return previous(node)
    axis = node.attributes.get("axis", -1) % len(dims)
    count = _elements.smaller(wanted[0], dims[axis])
    every = relax.const(np.array([-1]), "int64")
    made = node.emit(previous(node.with_inputs(node.tensor(0), every)))
    both = [node.emit(relax.TupleGetItem(made, at)) for at in range(2)]
    return relax.Tuple([_part(node, value, axis, 0, count) for value in both])


def split(node: Node, previous: Previous) -> Any:
    """Parts of sizes that a graph computes; a call in which they are not the whole raises."""
    sizes, dims = _sizes(node, functools.partial(_not_negative, node)), known_dims(node.given(0))
    if sizes is None or dims is None or isinstance(node.given(0), Known):
        return previous(node)
    axis = node.attributes.get("axis", 0) % len(dims)
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


def _sizes(node: Node, change: Callable[[Any], Any]) -> list[Any] | None:
    """The second input, if it is no constant: expressions, or symbols where data decide it."""
    known = node.known(1)
    if known is not None:
        return None if known.constant else known.integers()
    listed = _computed.listed(node, 1)
    return None if listed is None else _computed.symbols(node, change(listed))


def _not_negative(node: Node, listed: Any) -> Any:
    """A list int64 [parts] with a number that is larger than any axis in place of one below 0."""
    below = node.emit(relax.op.less(listed, relax.const(0, "int64")))
    return relax.op.where(below, relax.const(1 << 40, "int64"), listed)


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
    op="ONNX Squeeze, ONNX Unsqueeze, ONNX PRelu, ONNX TopK, ONNX Split",
    affected=">=0.27",
    install=lambda: _converters.laid_over(
        {"Squeeze": squeeze, "Unsqueeze": unsqueeze, "PRelu": prelu, "TopK": top_k, "Split": split}
    ),
    probe=lambda: _frontend.holds_expressions()
    and "relax.op.nn.prelu(x, slope, ndim - 1)" in _frontend.converter("PRelu"),
    needs_torch=False,
)
