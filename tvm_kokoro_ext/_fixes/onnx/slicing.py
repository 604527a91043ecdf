"""Slice with symbolic sizes or bounds, and Gather at constant places.

Stock presumes that every bound lies inside as soon as one is symbolic, and computes the sizes of
the tensor again at run time to count a negative index from the end.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import relax, te
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _computed, _converters, _elements, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node, int64, known_dims
from tvm_kokoro_ext._fixes.onnx._elements import NotKnown
from tvm_kokoro_ext._fixes.onnx._known import Known

Previous = Callable[[Node], Any]

_ENDLESS = 10**9
"""A bound behind the end of any axis, as TensorFlow's exporter writes it.

TVM would plan memory for as many elements.
"""


def slices(node: Node, previous: Previous) -> Any:
    """Slice: bounds counted from the end where negative, and limited to the axis."""
    x, dims = node.given(0), known_dims(node.given(0))
    if isinstance(x, Known) or dims is None:
        return previous(node)
    bounds = _bounds(node)
    if bounds is None:
        return _computed_slices(node, previous, dims)
    starts, ends, axes, steps = bounds
    if not all(isinstance(step, int) and step != 0 for step in steps):
        return previous(node)
    axes = [axis + len(dims) if axis < 0 else axis for axis in axes]
    concerned = [dims[axis] for axis in axes]
    fixed = all(isinstance(value, int) for value in (*starts, *ends, *concerned))
    first: list[Any] = [0] * len(dims)
    stride, sizes = [1] * len(dims), list(dims)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        dim = dims[axis]
        low, high = (0, dim) if step > 0 else (-1, dim - 1)
        # No size is below 0, also where the analysis of its expression does not see it.
        first_place = step > 0 and isinstance(start, int) and start == 0
        start = 0 if first_place else _limited(start, dim, 0, high)
        end = _limited(end, dim, low, high)
        span = _elements.simplified(end - start if step > 0 else start - end)
        count = span if abs(step) == 1 else _elements.divide(span + (abs(step) - 1), abs(step))
        first[axis], stride[axis] = start, step
        sizes[axis] = _elements.larger(0, _elements.simplified(count))
    if (
        fixed
        and 0 not in sizes
        and all(map(operator.ge, starts, map(operator.neg, concerned)))
        and "starts" not in node.attributes
    ):
        return previous(node)
    whole = all(isinstance(start, int) and start == 0 for start in first) and set(stride) == {1}
    if whole and all(map(_elements.same_size, sizes, dims)):
        return x

    def compute(data: Any, shape: Any, first: Any) -> Any:
        def element(*at: Any) -> Any:
            return data(*[a + i * s for a, i, s in zip(first, at, stride, strict=True)])

        return te.compute(tuple(shape), element, name="slice")

    made = node.builder.emit_te(
        compute,
        x,
        [int64(size) for size in sizes],
        [int64(start) for start in first],
        primfunc_name_hint="onnx_slice",
    )
    singles = [1 if _single(size) else size for size in sizes]
    if singles == sizes:
        return made
    return _emit.with_sizes(node.builder, made, [int64(size) for size in singles])


def _single(size: Any) -> bool:
    """Whether a size is 1 in every call but those whose inputs are so small that it is 0.

    Such a call raises. What is cut out can then be repeated along the axis.
    """
    return (
        not isinstance(size, int)
        and all(map(_elements.least, _compat.variables_of(size)))
        and _elements.proved(size <= 1)
    )


def _computed_slices(node: Node, previous: Previous, dims: list[Any]) -> Any:
    """Slice by bounds, and along axes and by steps, that the graph computes from data."""
    given = [_list(node, at) for at in (3, 4)]
    count = None if given[0] is None else _compat.as_int(_compat.shape_of(given[0])[0])
    places = [_list(node, at, count) for at in (1, 2)]
    if any(
        value is None and (at < 3 or node.given(at) is not None)
        for at, value in enumerate([*places, *given], 1)
    ):
        return previous(node)
    count = _compat.as_int(_compat.shape_of(places[0])[0]) or 0
    step = _computed.integers([1] * count) if given[1] is None else given[1]
    axes = _axes(node, len(dims), count)
    if axes is None:
        axes, own = list(range(len(dims))), _computed.sizes_of(node, dims)
        negative = node.emit(relax.op.less(given[0], relax.const(0, "int64")))
        from_end = node.emit(relax.op.add(given[0], relax.const(len(dims), "int64")))
        at = node.emit(relax.op.where(negative, from_end, given[0]))

        def spread(rest: Any, values: Any) -> Any:
            return node.emit(relax.op.scatter_elements(rest, at, values))

        places = [spread(_computed.integers([0] * len(dims)), places[0]), spread(own, places[1])]
        step = spread(_computed.integers([1] * len(dims)), step)
    else:
        own = _computed.sizes_of(node, [dims[axis] for axis in axes])
    first, sizes = _limits(node, places[0], places[1], step, own)
    shape = list(dims)
    for axis, size in zip(axes, _computed.symbols(node, sizes), strict=True):
        shape[axis] = size

    def compute(data: Any, first: Any, step: Any, shape: Any) -> Any:
        def element(*at: Any) -> Any:
            own = list(at)
            for place, axis in enumerate(axes):
                own[axis] = first[place] + at[axis] * step[place]
            return data(*own)

        return te.compute(tuple(shape), element, name="slice")

    sizes = [int64(size) for size in shape]
    return node.builder.emit_te(
        compute, node.given(0), first, step, sizes, primfunc_name_hint="onnx_slice"
    )


def _limits(node: Node, start: Any, end: Any, step: Any, dims: Any) -> tuple[Any, Any]:
    """The first places and the sizes of a slice; every value is a tensor int64 [axes].

    The size of a step of 0 is -1, which raises.
    """
    zero, one = relax.const(0, "int64"), relax.const(1, "int64")
    backwards = node.emit(relax.op.less(step, zero))
    back = node.emit(relax.op.astype(backwards, "int64"))
    last = node.emit(relax.op.subtract(dims, back))

    def limited(bound: Any, low: Any) -> Any:
        from_end = node.emit(relax.op.add(bound, dims))
        bound = node.emit(relax.op.where(node.emit(relax.op.less(bound, zero)), from_end, bound))
        return node.emit(relax.op.minimum(node.emit(relax.op.maximum(bound, low)), last))

    first = limited(start, zero)
    span = node.emit(relax.op.subtract(limited(end, node.emit(relax.op.negative(back))), first))
    rounding = node.emit(relax.op.subtract(step, node.emit(relax.op.sign(step))))
    span = node.emit(relax.op.add(span, rounding))
    divisor = _computed.where_equal(node, step, 0, one)
    count = node.emit(relax.op.maximum(node.emit(relax.op.floor_divide(span, divisor)), zero))
    still = node.emit(relax.op.equal(step, zero))
    return first, node.emit(relax.op.where(still, relax.const(-1, "int64"), count))


def _axes(node: Node, rank: int, count: int) -> list[int] | None:
    """The axes of `count` bounds; None if they are not known at import."""
    if node.given(3) is None:
        return list(range(count))
    known = node.known(3)
    if known is None or not known.constant:
        return None
    return [int(axis) % rank for axis in known.values.flat]


def _list(node: Node, at: int, count: int | None = None) -> Any:
    """A list of integers as a tensor int64 [count]; None for any other input.

    One whose number of elements is not known at import must have `count` of them.
    """
    known = node.known(at)
    if known is None:
        return _computed.listed(node, at, count)
    return _computed.sizes_of(node, known.integers()) if known.values.ndim == 1 else None


def _bounds(node: Node) -> tuple[list[Any], list[Any], list[int], list[Any]] | None:
    """starts, ends, axes and steps; None if they are not known at import."""
    if "starts" in node.attributes:
        starts, ends = list(node.attributes["starts"]), list(node.attributes["ends"])
        axes = list(node.attributes.get("axes", range(len(starts))))
        return starts, ends, axes, [1] * len(starts)
    lists: list[list[Any] | None] = []
    for at in range(1, 5):
        known = node.known(at)
        if node.given(at) is not None and known is None:
            return None
        try:
            lists.append(None if known is None else known.integers())
        except NotKnown:
            return None
    if lists[0] is None or lists[1] is None:
        return None
    count = len(lists[0])
    axes = list(range(count)) if lists[2] is None else lists[2]
    if not all(isinstance(axis, int) for axis in axes):
        return None
    return lists[0], lists[1], axes, [1] * count if lists[3] is None else lists[3]


def _limited(bound: Any, dim: Any, low: int, high: Any) -> Any:
    """A bound of a slice as a place between `low` and `high`."""
    if isinstance(bound, int):
        if bound >= _ENDLESS and not isinstance(dim, int):
            return high
        if bound < -(1 << 31):  # the least number of int64 and the like: before the start
            return low
        bound = _elements.simplified(bound + dim) if bound < 0 else bound
        if not isinstance(bound, int):
            return _elements.smaller(_elements.larger(bound, low), high)
    elif not _elements.proved(bound >= 0):
        from_end = _elements.choose(bound < 0, bound + dim, bound)
        if _elements.proved(bound < 0):
            from_end = _elements.simplified(bound + dim)
        bound = from_end
    return _elements.smaller(_elements.larger(bound, low), high)


def gather(node: Node, previous: Previous) -> Any:
    """Gather at constant places of an axis: a negative one counts from its end."""
    dims, known = known_dims(node.given(0)), node.known(1)
    if isinstance(node.given(0), Known) or dims is None or known is None or not known.constant:
        return previous(node)
    axis = node.attributes.get("axis", 0)
    size = dims[axis + len(dims) if axis < 0 else axis]
    places = np.array(known.values.tolist(), "int64").reshape(known.values.shape)
    if (places < 0).any():
        if not isinstance(size, int):
            return previous(node)
        places = np.where(places < 0, places + size, places)
    return relax.op.take(node.given(0), relax.const(places, "int64"), axis, mode="clip")


FIX = Fix(
    id="onnx_slice",
    what="Slice of an ONNX graph with a symbolic size or bound reads outside or gives a wrong size",
    op="ONNX Slice, Gather",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"Slice": slices, "Gather": gather}),
    probe=lambda: _frontend.holds_expressions()
    and "known_list" not in _frontend.converter("Slice"),
    needs_torch=False,
)
