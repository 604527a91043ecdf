"""Operators of tensors whose sizes are equal, which TVM cannot prove.

Relax then knows no shape of the result and has no kernel for the operator. Where sizes of an axis
may differ as far as can be proved, the tensors are declared to have the same, which is checked at
run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _replace
from tvm_kokoro_ext._compat import topi
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _elements, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node, int64, known_dims
from tvm_kokoro_ext._fixes.onnx._known import Known

Previous = Callable[[Node], Any]

ELEMENTWISE = (
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Pow",
    "Mod",
    "And",
    "Or",
    "Xor",
    "Equal",
    "Less",
    "LessOrEqual",
    "Greater",
    "GreaterOrEqual",
    "Where",
    "Min",
    "Max",
    "Sum",
    "Mean",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "BitShift",
    "PRelu",
    "com.microsoft.QLinearAdd",
    "com.microsoft.QLinearMul",
    "com.microsoft.QLinearWhere",
    "com.microsoft.SkipLayerNormalization",
    "com.microsoft.SkipSimplifiedLayerNormalization",
)
_QUANTIZED_CONCAT = "com.microsoft.QLinearConcat"


def unified(node: Node, previous: Previous) -> Any:
    """Give tensors that are combined element by element the same sizes, where they are not 1."""
    return _unified(node, previous, None)


def concatenated(node: Node, previous: Previous) -> Any:
    """The same for Concat, whose inputs differ along its own axis only."""
    first = 2 if node.operator == _QUANTIZED_CONCAT else 0  # behind the scale and zero point
    dims = known_dims(node.given(first))
    if dims is None or not dims:
        return previous(node)
    axis = node.attributes["axis"]
    return _unified(node, previous, len(dims) - axis if axis >= 0 else -axis)


def scattered(node: Node, previous: Previous) -> Any:
    """The same for the updates of ScatterND, of which there is one for each index."""
    data, indices, updates = (known_dims(node.given(at)) for at in range(3))
    if indices and 0 in indices[:-1] and not isinstance(node.given(0), Known):
        return node.given(0)  # no kernel divides by the number of rows, which is 0
    if data is None or not indices or updates is None:
        return previous(node)
    if not isinstance(indices[-1], int):
        raise _frontend.refusal(
            "ScatterND",
            f"the number of axes that its indices name, {indices[-1]}, is symbolic",
            "Give it as a number (shape_dict), or reshape the indices to a constant last size",
        )
    wanted = [*indices[:-1], *data[indices[-1] :]]
    if len(wanted) != len(updates) or all(
        _one_expression([own, size]) for own, size in zip(updates, wanted, strict=True)
    ):
        return previous(node)
    sizes = [int64(size) for size in wanted]
    given = _emit.with_sizes(node.builder, node.emit(node.tensor(2)), sizes)
    return previous(replace(node, inputs=[*node.inputs[:2], given]))


def multiplied(node: Node, previous: Previous) -> Any:
    """The same for MatMul: its batches, and the axes along which products are added up."""
    dims = [known_dims(node.given(at)) for at in range(2)]
    if not dims[0] or not dims[1]:
        return previous(node)
    lhs, rhs = wanted = [list(dims[0]), list(dims[1])]
    batch = min(len(lhs), len(rhs))
    places = [(-1, -min(len(rhs), 2)), *((-axis, -axis) for axis in range(3, batch + 1))]
    for mine, theirs in places:
        chosen = _common([lhs[mine], rhs[theirs]])
        if chosen is not None:
            for own, at in ((lhs, mine), (rhs, theirs)):
                own[at] = own[at] if isinstance(own[at], int) else chosen
    return previous(_declared(node, dims, wanted))


def added(node: Node, previous: Previous) -> Any:
    """The same for Gemm: the axes along which products are added up, and what is added to them."""
    given = [value for value in node.inputs if value is not None]
    dims = [known_dims(value) for value in given]
    if len(dims) < 2 or any(own is None for own in dims):
        return previous(node)
    wanted = [list(own or ()) for own in dims]
    across = [node.attributes.get(name, 0) for name in ("transA", "transB")]
    inner, outer = [1 - across[0], across[1]], [across[0], 1 - across[1]]
    chosen = _common([own[at] for own, at in zip(wanted, inner)])  # noqa: B905
    if chosen is not None:
        for own, at in zip(wanted, inner):  # noqa: B905
            own[at] = own[at] if isinstance(own[at], int) else chosen
    if len(wanted) > 2:
        sizes = [wanted[side][outer[side]] for side in range(2)]
        for axis in range(1, len(wanted[2]) + 1):
            own = wanted[2][-axis]
            if not isinstance(own, int) and not _one_expression([own, sizes[-axis]]):
                wanted[2][-axis] = sizes[-axis]
    return previous(_declared(node.with_inputs(*given), dims, wanted))


def _unified(node: Node, previous: Previous, free: int | None) -> Any:
    """With one size for each axis but `free`, which is counted from the end and from 1."""
    dims = [None if value is None else known_dims(value) for value in node.inputs]
    if any(own is None for own in dims):
        return previous(node)
    rank = max(len(own) for own in dims if own is not None)
    wanted = [list(own or ()) for own in dims]
    for axis in range(1, rank + 1):
        if axis == free:
            continue
        # Concat repeats nothing, so that a size of 1 is one like any other.
        repeated = 1 if free is None else None
        chosen = _common([own[-axis] for own in wanted if len(own) >= axis], repeated)
        if chosen is None:
            continue
        for own in wanted:
            if len(own) >= axis and not isinstance(own[-axis], int):
                own[-axis] = chosen
    return previous(_declared(node, dims, wanted))


def _common(sizes: list[Any], repeated: int | None = 1) -> Any:
    """What every symbolic size of an axis has to be; None if they are written alike already.

    An axis of `repeated` elements is repeated to the size of the others.
    """
    symbolic = [size for size in sizes if not isinstance(size, int)]
    fixed = [size for size in sizes if isinstance(size, int) and size != repeated]
    if not symbolic or (not fixed and _one_expression(symbolic)):
        return None
    return fixed[0] if fixed else min(symbolic, key=_depth)


def _depth(size: Any) -> tuple[bool, int]:
    """Sizes of inputs come first, which every function knows, and then the shortest expression.

    A size that a tensor was declared to have may be gone when TVM has simplified the function.
    """
    named = not all(map(_elements.least, _compat.variables_of(size)))
    return named, len(str(size))


def _declared(node: Node, dims: Sequence[Any], wanted: list[list[Any]]) -> Node:
    """The node with inputs that are declared to have the wanted sizes, where theirs are others."""
    inputs = list(node.inputs)
    for at, (own, before) in enumerate(zip(wanted, dims, strict=True)):
        if isinstance(inputs[at], Known) or all(
            a is b for a, b in zip(own, before or (), strict=True)
        ):
            continue
        sizes = [int64(size) for size in own]
        inputs[at] = _emit.with_sizes(node.builder, node.emit(inputs[at]), sizes)
    return replace(node, inputs=inputs)


def _one_expression(sizes: list[Any]) -> bool:
    """Whether the sizes are written alike, so that a kernel of TVM takes them for one.

    Two sizes that data decide may have the same name.
    """
    first, *others = map(int64, sizes)
    variables = _compat.variables_of(first)
    return all(
        str(first) == str(other)
        and all(map(_compat.same_object, variables, _compat.variables_of(other)))
        for other in others
    )


def _simplifying(original: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The common shape of two tensors, of sizes that stock compares as they are written."""

    def compute_broadcast_shape(shape_a: Any, shape_b: Any) -> Any:
        both = (
            [int64(_elements.simplified(size)) for size in shape] for shape in (shape_a, shape_b)
        )
        return original(*both)

    return compute_broadcast_shape


def _shapes_of_frontend() -> Callable[[], None]:
    return _replace.in_place({_frontend.module().compute_broadcast_shape: _simplifying})


def _verifying(original: Callable[..., None]) -> Callable[..., None]:
    """topi's check of the sizes of scatter_nd, which compares expressions as Python objects."""

    def _verify_scatter_nd_inputs(data: Any, indices: Any, updates: Any) -> None:
        rows = len(data.shape) - int(indices.shape[0])
        known = list(data.shape[len(data.shape) - rows :])
        own = list(updates.shape)
        for at, size in zip(range(len(own) - rows, len(own)), known, strict=True):
            if not _compat.same_object(own[at], size) and _elements.same_size(own[at], size):
                own[at] = size
        original(data, indices, SimpleNamespace(shape=own, dtype=updates.dtype))

    return _verify_scatter_nd_inputs


def _install() -> Callable[[], None]:
    layers = dict.fromkeys(ELEMENTWISE, unified) | {
        "Concat": concatenated,
        _QUANTIZED_CONCAT: concatenated,
        "ScatterND": scattered,
        "MatMul": multiplied,
        "Gemm": added,
    }
    return _frontend.both(
        _converters.laid_over(layers),
        _replace.in_place({topi.scatter._verify_scatter_nd_inputs: _verifying}),
        _frontend.when_imported(_shapes_of_frontend),
    )


FIX = Fix(
    id="onnx_broadcast",
    what="operators of tensors of equal sizes that cannot be proved equal do not compile",
    op="ONNX Add, Mul, Where and the other elementwise operators, MatMul, Gemm, Concat, ScatterND",
    affected=">=0.27",
    install=_install,
    probe=lambda: _frontend.holds_expressions() and "with_equal_sizes" not in _frontend.text(),
    needs_torch=False,
)
