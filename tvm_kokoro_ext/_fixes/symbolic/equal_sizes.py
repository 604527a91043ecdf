"""Operands whose sizes have to be equal, where TVM cannot prove that they are.

Torch takes two sizes for equal where it could not go on otherwise: it guards the program, or reads
the sizes of the example. TVM has the expressions only, `64 - max(0, 64 - n)` beside `n`. Relax then
knows no shape of the result and has no kernel for the operator, and kernels that take the sizes for
equal read outside of a tensor where they are not. Here the operands are declared to have equal
sizes before they are combined, which is checked when the function runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from tvm_kokoro_ext import _agreement, _compat, _emit, _probe, _program_probe, _symbolic
from tvm_kokoro_ext._fix import Fix, needs_previous
from tvm_kokoro_ext._fixes._shared import detour
from tvm_kokoro_ext._fixes._shared.match_casts import match_casts

#: An axis of an operand: the node, and the position of the axis.
Axis = tuple[Any, int]

_BESIDE_AN_AXIS = frozenset({"cat.default", "concat.default"})
_ALIKE = frozenset({"stack.default"})
#: Matrix products, by the positions of their factors among the arguments.
_PRODUCTS = {
    **dict.fromkeys(("mm.default", "bmm.default", "matmul.default", "dot.default"), (0, 1)),
    **dict.fromkeys(("mv.default",), (0, 1)),
    **dict.fromkeys(("addmm.default", "baddbmm.default", "addmv.default"), (1, 2)),
}
#: Operators that broadcast their operands and that torch does not mark as pointwise.
_UNMARKED = frozenset({"where.ScalarOther", "where.ScalarSelf", "expand_as.default"})
_INDEXED = frozenset({"index.Tensor", "index_put.default", "index_put_.default"})


@needs_previous
def with_equal_sizes(importer: Any, node: Any, previous: Any) -> Any:
    """Convert the node with operands that are declared to have the sizes that they must have."""
    wanted: dict[Any, list[Any]] = {}
    name = getattr(node.target, "__name__", "")
    broadcast = name not in _BESIDE_AN_AXIS | _ALIKE
    for axes in _equal_axes(importer, node):
        _agree(importer, axes, wanted, broadcast)
    if name in _agreement.SPREAD:
        _spread(importer, node, wanted)
    with ExitStack() as stack:
        for operand, shape in wanted.items():
            cast = _emit.with_sizes(importer.block_builder, importer.env[operand], shape)
            stack.enter_context(_emit.standing_in(importer, operand, cast))
        return previous(node)


def _equal_axes(importer: Any, node: Any) -> Iterator[Sequence[Axis]]:
    """Groups of axes whose sizes have to be equal; where they are broadcast, 1 fits any other."""
    name = getattr(node.target, "__name__", "")
    known = {
        argument for argument, value in detour.tensors(importer, node) if _is_known(argument, value)
    }
    if len(known) < 2:
        return
    if name in _PRODUCTS:
        factors = [node.args[position] for position in _PRODUCTS[name]]
        if known.issuperset(factors):
            yield from _product(*factors)
            if 0 not in _PRODUCTS[name] and node.args[0] in known:
                yield from _sum(node.args[0], *factors)
    elif name in _BESIDE_AN_AXIS or name in _ALIKE:
        parts = [part for part in node.args[0] if part in known]
        rank = max(map(_rank, parts), default=0)
        parts = [part for part in parts if _rank(part) == rank]
        axis = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", 0)
        own = axis % rank if name in _BESIDE_AN_AXIS and rank else None
        yield from ([(part, a) for part in parts] for a in range(rank) if a != own)
    elif name in _INDEXED:
        yield from _indexed(node, known)
    elif _broadcasts_operands(node):
        yield from _broadcast(sorted(known, key=lambda operand: operand.name))


def _indexed(node: Any, known: set[Any]) -> Iterator[Sequence[Axis]]:
    """The axes of index tensors, and those of the values that are written there."""
    x, indices, *rest = node.args
    tensors = [index for index in indices if index is not None]
    if not tensors or not known.issuperset(tensors) or any(map(_is_mask, tensors)):
        return
    yield from _broadcast(tensors)
    if not rest or rest[0] not in known or x not in known:
        return
    places = [axis for axis, index in enumerate(indices) if index is not None]
    whole = [axis for axis in range(_rank(x)) if axis not in places]
    adjacent = places == list(range(places[0], places[-1] + 1))
    after = [axis for axis in whole if not adjacent or axis > places[-1]]
    values = rest[0]
    for position, axis in enumerate(reversed(after), 1):
        if _rank(values) >= position:
            yield [(values, _rank(values) - position), (x, axis)]
    most = max(map(_rank, tensors))
    for position in range(1, min(most, _rank(values) - len(after)) + 1):
        own = (values, _rank(values) - len(after) - position)
        yield [own, *((t, _rank(t) - position) for t in tensors if _rank(t) >= position)]


def _is_mask(index: Any) -> bool:
    return not index.meta["val"].dtype.is_signed


def _is_known(operand: Any, value: Any) -> bool:
    """Whether the shapes of an operand are known to torch and to TVM."""
    recorded: Any = getattr(operand, "meta", {}).get("val")
    if not hasattr(recorded, "shape") or not _compat.is_tensor(value):  # a complex one is a pair
        return False
    if _compat.type_of(value).shape is None:
        return False
    return len(recorded.shape) == _compat.rank_of(value)


def _broadcasts_operands(node: Any) -> bool:
    import torch

    unmarked = getattr(node.target, "__name__", "") in _UNMARKED
    return unmarked or torch.Tag.pointwise in getattr(node.target, "tags", ())


def _rank(operand: Any) -> int:
    return len(operand.meta["val"].shape)


def _broadcast(operands: Sequence[Any]) -> Iterator[Sequence[Axis]]:
    """The axes of operands that are broadcast, counted from the last."""
    for position in range(1, max(map(_rank, operands), default=0) + 1):
        yield [(o, _rank(o) - position) for o in operands if _rank(o) >= position]


def _product(lhs: Any, rhs: Any) -> Iterator[Sequence[Axis]]:
    """The axes that a matrix product sums over, and those of the batches."""
    left, right = _rank(lhs), _rank(rhs)
    yield [(lhs, left - 1), (rhs, max(right - 2, 0))]
    for position in range(3, max(left, right) + 1):
        yield [(o, _rank(o) - position) for o in (lhs, rhs) if _rank(o) >= position]


def _sum(addend: Any, lhs: Any, rhs: Any) -> Iterator[Sequence[Axis]]:
    """The axes of what a matrix product is added to, with those of the product, from the last."""
    axes = [[(lhs, axis), (rhs, axis)] for axis in range(_rank(lhs) - 2)]
    axes.append([(lhs, _rank(lhs) - 2)])
    if _rank(rhs) > 1:
        axes.append([(rhs, _rank(rhs) - 1)])
    for position, own in enumerate(reversed(axes), 1):
        if _rank(addend) >= position:
            yield [(addend, _rank(addend) - position), *own]


def _was_one(size: Any) -> bool:
    """Whether the size is 1 in the example: then torch has guarded that an expanded one is."""
    if isinstance(size, int):
        return size == 1
    return bool(size.node.has_hint() and size.node.hint == 1)


def _spread(importer: Any, node: Any, wanted: dict[Any, list[Any]]) -> None:
    """Add to `wanted` the sizes that an operand has to have to be expanded to others."""
    if len(node.args) < 2 or node.args[0] not in importer.env:
        return
    operand, target = node.args[:2]
    expanded: Any = node.meta.get("val")
    if not _is_known(operand, importer.env[operand]) or not hasattr(expanded, "shape"):
        return
    shape = _compat.shape_of(importer.env[operand])
    new = len(target) - len(shape)
    for axis, size in enumerate(shape):
        asked = importer.env.get(target[new + axis], target[new + axis])
        if isinstance(size, int) or _compat.as_int(asked) == -1:
            continue
        recorded = operand.meta["val"].shape[axis]
        due = _compat.prim(asked)
        result = expanded.shape[new + axis]
        if _symbolic.known_value(recorded) == 1 or (_was_one(recorded) and not _was_one(result)):
            due = 1
        if not _compat.prim_equal(size, due):
            _want(importer, operand, axis, due, wanted)


def _agree(
    importer: Any, axes: Sequence[Axis], wanted: dict[Any, list[Any]], broadcast: bool
) -> None:
    """Add to `wanted` the shapes of the operands that need another expression for such an axis."""
    sizes = []
    for operand, axis in axes:
        size = _compat.shape_of(importer.env[operand])[axis]
        if broadcast and _symbolic.known_value(operand.meta["val"].shape[axis]) == 1:
            if not isinstance(size, int):
                _want(importer, operand, axis, 1, wanted)
        elif not (broadcast and isinstance(size, int) and size == 1):
            sizes.append((operand, axis, size))
    fixed = [size for _, _, size in sizes if isinstance(size, int)]
    if len(sizes) < 2 or len(fixed) == len(sizes):
        return
    chosen = fixed[0] if fixed else min((s for _, _, s in sizes), key=lambda size: len(str(size)))
    for operand, axis, size in sizes:
        if not isinstance(size, int) and not _compat.prim_equal(size, chosen):
            _want(importer, operand, axis, chosen, wanted)


def _want(importer: Any, operand: Any, axis: int, size: Any, wanted: dict[Any, list[Any]]) -> None:
    shape = wanted.setdefault(operand, _compat.shape_of(importer.env[operand]))
    shape[axis] = size


@_probe.wrong
def _still_wrong() -> bool:
    """Whether stock combines n with m elements as they are, with any of these operators."""
    import torch

    if not FIX.affects(_compat.tvm_version()):
        return False
    aten = torch.ops.aten
    x, y = _probe.Input(("n", 3, 3)), _probe.Input(("m", 3, 3))
    column, row = _probe.Input((3, "m")), _probe.Input(("n", 3))
    place, other = _probe.Input(("n",), "int64"), _probe.Input(("m",), "int64")
    return (
        _is_unchecked(lambda a, b: (aten.add.Tensor, (a, b)), x, y)
        or _is_unchecked(lambda a, b: (aten.cat.default, ([a, b], 2)), x, y)
        or _is_unchecked(lambda a, b: (aten.stack.default, ([a, b],)), x, y)
        or _is_unchecked(lambda a, b: (aten.bmm.default, (a, b)), x, y)
        or _is_unchecked(lambda a, b: (aten.mm.default, (a, b)), column, row)
        or _is_unchecked(lambda a, i, j: (aten.index.Tensor, (a, [None, i, j])), x, place, other)
    )


def _is_unchecked(call: Callable[..., Any], *inputs: _probe.Input) -> bool:
    """Whether stock declares nothing of the sizes of the operands."""

    def write(graph: Any, *nodes: Any) -> list[Any]:
        node = graph.call_function(*call(*nodes))
        operator, recorded = call(*(given.meta["val"] for given in nodes))
        node.meta["val"] = operator(*recorded)
        return [node]

    made = _program_probe.branch(_program_probe.graph_module(write, inputs), inputs)
    return not match_casts(made)


FIX = Fix(
    id="equal_sizes",
    what="operands whose symbolic sizes are equal, which TVM cannot prove, are refused",
    op="aten.add, aten.mul, aten.where, aten.cat, aten.matmul, …",
    # Earlier versions overflow the stack where sizes are declared twice; no probe can ask for that.
    affected=">=0.27",
    around=with_equal_sizes,
    probe=_still_wrong,
)
