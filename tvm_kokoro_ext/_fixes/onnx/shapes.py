"""Reshape, Expand, ConstantOfShape, Range, Tile and Split by sizes that the graph computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _computed, _converters, _elements, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node, int64, known_dims
from tvm_kokoro_ext._fixes.onnx._elements import NotKnown
from tvm_kokoro_ext._fixes.onnx._known import Known

Previous = Callable[[Node], Any]


def _sizes(node: Node, at: int) -> list[Any] | None:
    """The sizes that an input lists, if it is known and there is an axis of symbolic size."""
    dims, known = known_dims(node.given(0)), node.known(at)
    if isinstance(node.given(0), Known) or dims is None or known is None:
        return None
    if known.values.ndim > 1 or known.dtype not in ("int64", "int32"):
        return None
    try:
        sizes = known.integers()
    except NotKnown:
        return None
    return None if all(isinstance(size, int) for size in (*dims, *sizes)) else sizes


def reshape(node: Node, previous: Previous) -> Any:
    """0 copies a size of the input, and -1 is the rest, with equal factors cancelled."""
    nothing = _of_no_elements(node)
    if nothing is not None:
        return nothing
    sizes = _sizes(node, 1)
    if sizes is None:
        return _computed_reshape(node, previous)
    dims = known_dims(node.given(0)) or []
    if not node.attributes.get("allowzero"):
        sizes = [dims[i] if isinstance(s, int) and s == 0 else s for i, s in enumerate(sizes)]
    found = _with_rest(dims, sizes)
    rounded = _with_rest(dims, [_elements.simplified(_elements.floored(s)) for s in sizes])
    # Of sizes that do not fit otherwise ONNX Runtime makes no tensor.
    fits = _elements.same_size(_product(rounded), _product(dims))
    return _reshaped(node, dims, rounded if fits else found)


def _computed_reshape(node: Node, previous: Previous) -> Any:
    """Into sizes that the graph computes from data; a call in which they do not fit raises."""
    sizes, dims = _computed.listed(node, 1), known_dims(node.given(0))
    if sizes is None or dims is None or isinstance(node.given(0), Known):
        return previous(node)
    rank = _compat.as_int(_compat.shape_of(sizes)[0]) or 0
    # A number below 1 stands for another size, and so may an expression.
    known = [size if size > 0 else None for size in _numbers(node, sizes)]
    if not node.attributes.get("allowzero"):
        own = [*dims, *[0] * rank][:rank]
        sizes = _computed.where_equal(node, sizes, 0, _computed.sizes_of(node, own))
    one = relax.const(1, "int64")
    others = node.emit(relax.op.prod(_computed.where_equal(node, sizes, -1, one)))
    count = _product(dims)
    total = _computed.sizes_of(node, [count])
    divisor = node.emit(relax.op.maximum(others, one))
    rest = node.emit(relax.op.floor_divide(total, divisor))
    sizes = _computed.where_equal(node, sizes, -1, rest)
    flat = relax.op.reshape(node.given(0), relax.ShapeExpr([int64(count)]))
    flat = _computed.checked(node, flat, relax.op.prod(sizes, keepdims=True))
    found = _computed.symbols(node, sizes, known)
    return relax.op.reshape(flat, relax.ShapeExpr([int64(size) for size in found]))


def _with_rest(dims: Sequence[Any], sizes: Sequence[Any]) -> list[Any]:
    """The sizes with what is left of the elements in place of -1."""
    rest = [i for i, s in enumerate(sizes) if isinstance(s, int) and s == -1]
    sizes = list(sizes)
    if len(rest) == 1:
        others = [s for i, s in enumerate(sizes) if i != rest[0]]
        sizes[rest[0]] = _elements.quotient(dims, others)
    return sizes


def _of_no_elements(node: Node) -> Any:
    """A tensor without elements, in the shape that `allowzero` spells out; None for any other."""
    wanted = node.known(1)
    if wanted is None or not wanted.constant or isinstance(node.given(0), Known):
        return None
    sizes = [int(size) for size in wanted.values.ravel()]
    if not node.attributes.get("allowzero") or 0 not in sizes or -1 in sizes:
        return None
    return relax.op.zeros(relax.ShapeExpr(sizes), _compat.dtype_of(node.given(0)))


def _reshaped(node: Node, dims: Sequence[Any], sizes: Sequence[Any]) -> Any:
    if len(dims) == len(sizes) and all(map(_elements.same_size, dims, sizes)):
        return node.given(0)
    return relax.op.reshape(node.given(0), relax.ShapeExpr([int64(s) for s in sizes]))


def flatten(node: Node, previous: Previous) -> Any:
    """Into two axes; stock loses a symbolic size."""
    dims = known_dims(node.given(0))
    if isinstance(node.given(0), Known) or dims is None or all(isinstance(d, int) for d in dims):
        return previous(node)
    axis = node.attributes.get("axis", 1)
    axis = axis + len(dims) if axis < 0 else axis
    return _reshaped(node, dims, [_product(dims[:axis]), _product(dims[axis:])])


def _product(sizes: Sequence[Any]) -> Any:
    product: Any = 1
    for size in sizes:
        product = product * size
    return _elements.simplified(product)


def expand(node: Node, previous: Previous) -> Any:
    """Broadcast both ways: a size of 1 in the wanted shape keeps the input's."""
    wanted = _sizes(node, 1)
    if wanted is None:
        return _computed_expand(node, previous)
    dims = known_dims(node.given(0)) or []
    rank = max(len(dims), len(wanted))
    own = [1] * (rank - len(dims)) + dims
    wanted = [1] * (rank - len(wanted)) + wanted
    wanted = [1 if isinstance(size, int) and size == -1 else size for size in wanted]
    shape = [_broadcast(dim, size) for dim, size in zip(own, wanted, strict=True)]
    if any(size is None for size in shape):
        return _by_tensor(node, own, _computed.sizes_of(node, wanted), shape)
    if rank == len(dims) and all(map(_elements.same_size, dims, shape)):
        return node.given(0)
    return relax.op.broadcast_to(node.given(0), relax.ShapeExpr([int64(s) for s in shape]))


def _broadcast(dim: Any, size: Any) -> Any:
    """The size of which one of 1 is repeated, or that is kept; None if only a call decides it."""
    if (isinstance(size, int) and size == 1) or _elements.same_size(dim, _elements.floored(size)):
        return dim
    if isinstance(dim, int):
        return size if dim == 1 else dim
    return None


def _expanded(node: Node, data: Any, shape: Sequence[Any]) -> Any:
    """The tensor repeated along its axes of one element."""

    def compute(data: Any, sizes: Any) -> Any:
        skipped = len(sizes) - len(data.shape)

        def element(*at: Any) -> Any:
            places = zip(at[skipped:], data.shape, strict=True)
            return data(*[tirx.Select(tirx.EQ(int64(d), int64(1)), int64(0), i) for i, d in places])

        return te.compute(tuple(sizes), element, name="expand")

    return node.builder.emit_te(compute, data, list(shape), primfunc_name_hint="onnx_expand")


def _computed_expand(node: Node, previous: Previous) -> Any:
    """To sizes that the graph computes from data; a call in which they do not fit raises."""
    wanted, dims = _computed.listed(node, 1), known_dims(node.given(0))
    if wanted is None or dims is None or isinstance(node.given(0), Known):
        return previous(node)
    count = _compat.as_int(_compat.shape_of(wanted)[0]) or 0
    rank = max(len(dims), count)
    missing, own = rank - count, [1] * (rank - len(dims)) + dims
    # Which of an expression and a symbolic size is 1 is decided in the call.
    known = [
        dim if size == 1 else size if size > 1 else None
        for dim, size in zip(own, [1] * missing + _numbers(node, wanted), strict=True)
    ]
    if missing:
        wanted = node.emit(relax.op.concat([_computed.integers([1] * missing), wanted], axis=0))
    return _by_tensor(node, own, wanted, known)


def _numbers(node: Node, listed: Any) -> list[int]:
    """The elements of a list that are constants, and -1 for the others."""
    return [size if isinstance(size, int) else -1 for size in _computed.elements(node, listed)]


def _by_tensor(node: Node, dims: Sequence[Any], wanted: Any, known: Sequence[Any]) -> Any:
    """To sizes, int64 [rank], of which those that are 1 keep one of `dims`.

    `known` has the sizes of the result that are known at import, and None for the others.
    """
    rank, skipped = len(dims), len(dims) - _compat.rank_of(node.given(0))
    own = _computed.sizes_of(node, dims)
    sizes = _computed.where_equal(node, wanted, 1, own)
    repeated = node.emit(relax.op.equal(own, relax.const(1, "int64")))
    fitting = node.emit(relax.op.where(repeated, relax.const(1, "int64"), sizes))
    places = _computed.integers(range(skipped, rank))
    data = _computed.checked(node, node.given(0), relax.op.take(fitting, places, axis=0))
    found = _computed.symbols(node, sizes)
    return _expanded(
        node,
        data,
        [own if size is None else int64(size) for size, own in zip(known, found, strict=True)],
    )


def arange(node: Node, previous: Previous) -> Any:
    """Range with a symbolic limit: a kernel of that many elements."""
    known = [node.known(at) for at in range(3)]
    if any(value is None or value.values.size != 1 for value in known):
        return previous(node)
    dtype = known[0].dtype  # type: ignore[union-attr]
    try:
        start, limit, step = (value.integers()[0] for value in known)  # type: ignore[union-attr]
    except NotKnown:
        return previous(node)
    if (
        not isinstance(step, int)
        or step == 0
        or (isinstance(start, int) and isinstance(limit, int))
    ):
        return previous(node)
    span = limit - start if step > 0 else start - limit
    count = span if abs(step) == 1 else tirx.floordiv(span + (abs(step) - 1), abs(step))
    count = _elements.simplified(count)
    if not isinstance(count, int) and not _elements.proved(count >= 0):
        count = tirx.max(count, tirx.IntImm("int64", 0))

    def compute(count: Any, start: Any) -> Any:
        return te.compute((count,), lambda i: tirx.Cast(dtype, start + i * step), name="arange")

    return node.builder.emit_te(
        compute, int64(count), int64(start), primfunc_name_hint="onnx_range"
    )


def constant_of_shape(node: Node, previous: Previous) -> Any:
    """A scalar for an empty list of sizes, and a tensor of sizes that are computed from data.

    Stock broadcasts its one value to no axis, or to such sizes, and stops.
    """
    from onnx import numpy_helper

    sizes, value = node.known(0), node.attributes.get("value")
    array = np.zeros((), "float32") if value is None else numpy_helper.to_array(value).reshape(())
    single = relax.const(array, str(array.dtype))
    if sizes is None and (computed := _computed.listed(node, 0)) is not None:
        shape = relax.ShapeExpr([int64(size) for size in _computed.of_list(node, computed)])
        return relax.op.full(shape, single, str(array.dtype))
    if sizes is None and _compat.is_tensor(node.given(0)):
        reason = "the number of sizes in its input is known only when the function runs"
        raise _frontend.refusal("ConstantOfShape", reason, "Give it a list of a known length")
    return single if sizes is not None and not sizes.values.size else previous(node)


def tile(node: Node, previous: Previous) -> Any:
    """Repeat each axis a number of times that may be symbolic."""
    repeats = _sizes(node, 1)
    dims = known_dims(node.given(0))
    if repeats is None or dims is None or len(repeats) != len(dims):
        return previous(node)
    shape = [_elements.simplified(d * r) for d, r in zip(dims, repeats, strict=True)]

    def compute(data: Any, sizes: Any) -> Any:
        def element(*at: Any) -> Any:
            return data(*[tirx.floormod(i, d) for i, d in zip(at, data.shape, strict=True)])

        return te.compute(tuple(sizes), element, name="tile")

    return node.builder.emit_te(
        compute, node.given(0), [int64(s) for s in shape], primfunc_name_hint="onnx_tile"
    )


FIX = Fix(
    id="onnx_shapes",
    what="Reshape, Expand, Range and Tile of an ONNX graph by symbolic sizes stop, or lose sizes",
    op="ONNX Reshape, Flatten, Expand, ConstantOfShape, Range, Tile",
    affected=">=0.27",
    install=lambda: _converters.laid_over(
        {
            "Reshape": reshape,
            "Flatten": flatten,
            "Expand": expand,
            "ConstantOfShape": constant_of_shape,
            "Range": arange,
            "Tile": tile,
        }
    ),
    probe=lambda: _frontend.holds_expressions()
    and "known_list" not in _frontend.converter("Range"),
    needs_torch=False,
)
