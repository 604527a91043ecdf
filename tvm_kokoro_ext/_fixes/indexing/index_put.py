"""index_put: boolean masks, broadcasting values, None indices, accumulate, symbolic shapes.

Stock supports neither masks nor symbolic index shapes, reads out of bounds if the values have to be
broadcast to the indices, and loses terms of repeated indices that it adds in several threads.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tvm_kokoro_ext import _checks, _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import indexing, requirements


def index_put(importer: Any, node: Any, previous: Any) -> Any:
    x, indices, values, accumulate = _emit.arguments(
        importer, node, "self", "indices", "values", "accumulate", accumulate=False
    )
    indices = list(indices)
    result = _put(importer, node, x, indices, values, bool(accumulate), previous)
    if node.target.__name__.startswith("index_put_"):
        for other, expression in list(importer.env.items()):
            if expression is x:
                importer.env[other] = result
    return result


def _put(
    importer: Any,
    node: Any,
    x: Any,
    indices: list[Any],
    values: Any,
    accumulate: bool,
    previous: Any,
) -> Any:
    masks = [a for a, index in enumerate(indices) if _is_mask(index)]
    if accumulate and _compat.dtype_of(x) == "bool":  # TVM cannot sum bools
        counts, values = (_emit.astype(importer, part, "int32") for part in (x, values))
        result = _put(importer, node, counts, indices, values, accumulate, None)
        return _emit.astype(importer, result, "bool")
    values = _emit.astype(importer, values, _compat.dtype_of(x))
    if masks:
        given = [a for a, index in enumerate(indices) if index is not None]
        if len(given) > 1:
            raise _emit.refuse(
                node,
                "a boolean mask together with other index tensors",
                "Write the mask with torch.where, or index with mask.nonzero() only",
            )
        return _put_masked(importer, node, x, indices[given[0]], given[0], values, accumulate)
    if all(index is None for index in indices):
        whole = _emit.emit(importer, relax.op.broadcast_to(values, _compat.shape_of(x)))
        return _emit.emit(importer, relax.op.add(x, whole)) if accumulate else whole
    if any(index is not None and 0 in _compat.shape_of(index) for index in indices):
        return x  # nothing to write; stock's kernel would divide by the number of positions
    # Indices may repeat, and stock's kernel adds in a parallel loop, whose threads lose terms.
    if previous is not None and not accumulate and _stock_is_right(x, indices, values):
        return previous(node)
    positions, grid = indexing.flat_positions(importer, x, indices)
    values = _emit.emit(importer, relax.op.broadcast_to(values, grid))
    flat = _emit.emit(
        importer,
        relax.op.scatter_elements(
            indexing.flatten(importer, x),
            indexing.flatten(importer, positions),
            indexing.flatten(importer, values),
            axis=0,
            reduction="add" if accumulate else "update",
        ),
    )
    return _emit.emit(importer, relax.op.reshape(flat, _compat.shape_of(x)))


def _is_mask(index: Any) -> bool:
    return index is not None and _compat.dtype_of(index) in ("bool", "uint8")


def _stock_is_right(x: Any, indices: list[Any], values: Any) -> bool:
    """Whether stock converts this node right.

    It does if all shapes are constant, every axis but the first has an index of integers with at
    least one dimension, and the values need no broadcasting. Shapes that cannot be broadcast are
    left to stock as well: torch itself rejects such a program at run time.
    """
    shapes = [_compat.shape_of(index) for index in indices if index is not None]
    given = _compat.shape_of(values)
    if not all(isinstance(dim, int) for shape in (*shapes, given) for dim in shape):
        return False
    if [] in shapes:
        return False
    try:
        grid = list(np.broadcast_shapes(*shapes))
    except ValueError:
        return True
    if any(index is None for index in indices[1:]) or len(indices) != _compat.rank_of(x):
        return False
    if indices[0] is None:  # stock supports one whole axis before the others
        whole = _compat.shape_of(x)[0]
        if not isinstance(whole, int):  # values of constant sizes have to be broadcast to it
            return False
        grid = [whole, *grid]
    return given == grid or not _broadcasts(given, grid)


def _broadcasts(shape: list[int], target: list[int]) -> bool:
    try:
        return list(np.broadcast_shapes(shape, target)) == target
    except ValueError:
        return False


def _put_masked(
    importer: Any, node: Any, x: Any, mask: Any, axis: int, values: Any, accumulate: bool
) -> Any:
    """`x[..., mask, ...] = values` with the mask over the axes of `x` from `axis`."""
    rank, mask_rank = _compat.rank_of(x), _compat.rank_of(mask)
    mask = _emit.astype(importer, mask, "bool")
    shape = _compat.shape_of(values)
    # The axis of the values along the selected positions; it is broadcast if its size is 1.
    counted = len(shape) - (rank - axis - mask_rank) - 1
    one_each = counted >= 0 and shape[counted] != 1
    order = []
    if one_each:
        order.append(selected_before(importer, mask))
        selected = number_selected(importer, node, mask, order[0])
        rows = _emit.int64(shape[counted])
        _checks.check(importer, tirx.any(selected == rows, rows == 1))

    def compute(data: Any, chosen: Any, given: Any, *ranks: Any) -> Any:
        def put(*at: Any) -> Any:
            place = at[axis : axis + mask_rank]
            number = tirx.min(ranks[0](*place), given.shape[counted] - 1) if one_each else 0
            value = indexing.read(given, [*at[:axis], number, *at[axis + mask_rank :]])
            value = data(*at) + value if accumulate else value
            return tirx.if_then_else(chosen(*place), value, data(*at))

        return te.compute(data.shape, put, name="put_masked")

    return _emit.emit_te(importer, compute, x, mask, values, *order, hint="put_masked")


def selected_before(importer: Any, mask: Any) -> Any:
    """For every position of the mask, the number of selected positions before it."""
    flat = _emit.astype(importer, indexing.flatten(importer, mask), "int64")
    count = _emit.emit(importer, relax.op.cumsum(flat, axis=0))
    before = _emit.emit(importer, relax.op.subtract(count, flat))
    return _emit.emit(importer, relax.op.reshape(before, _compat.shape_of(mask)))


def number_selected(importer: Any, node: Any, mask: Any, before: Any) -> Any:
    """How many positions of a bool mask are selected, as a symbolic number that can be checked."""

    def compute(mask: Any, before: Any) -> Any:
        count = tirx.Cast("int64", mask.shape[0])
        last = tirx.max(count - 1, tirx.const(0, "int64"))
        total = before[last] + tirx.Cast("int64", mask[last])
        return te.compute((), lambda: tirx.if_then_else(count > 0, total, tirx.const(0, "int64")))

    flat = [indexing.flatten(importer, tensor) for tensor in (mask, before)]
    total = _emit.emit_te(importer, compute, *flat, hint="number_selected")
    return requirements.number(importer, total, f"{node.name}_selected")


@_probe.wrong
def _still_wrong() -> bool:
    x, mask = _probe.Input((3, 4)), _probe.Input((3,), "bool")
    value = _probe.Input((1,))
    masked = _probe.convert("index_put.default", x, [mask], value, out=((3, 4), "float32"))
    return masked.ops == ("relax.index_put",)


@_probe.wrong
def _values_are_read_outside() -> bool:
    """Whether a single value for two positions is read out of bounds."""
    x, rows, value = _probe.Input((4, 5)), _probe.Input((2,), "int64"), _probe.Input((1,))
    module = _probe.legalized(_put_at, x, rows, value)
    (kernel,) = (f for name, f in module.functions_items() if name.name_hint != "main")
    places = re.findall(r"\bx2\[([^]]*)\]", kernel.script())
    return any(place not in ("0", "T.int64(0)") for place in places)


@_probe.wrong
def _symbolic_places_fail() -> bool:
    x, rows, values = _probe.Input((4, 5)), _probe.Input(("n",), "int64"), _probe.Input(("n",))
    _probe.legalized(_put_at, x, rows, values)
    return False


@_probe.wrong
def _rows_fail() -> bool:
    """Whether indexing whole rows, with fewer index tensors than axes, is rejected."""
    x, rows, values = _probe.Input((3, 4)), _probe.Input((2,), "int64"), _probe.Input((2, 4))
    _probe.convert("index_put.default", x, [rows], values, out=((3, 4), "float32"))
    return False


@_probe.wrong
def _numbers_fail() -> bool:
    """Whether an index without dimensions is rejected."""
    x, place, value = _probe.Input((4,)), _probe.Input((), "int64"), _probe.Input(())
    _probe.convert("index_put.default", x, [place], value, out=((4,), "float32"))
    return False


def _put_at(x: Any, rows: Any, values: Any) -> Any:
    return relax.op.index_put(x, relax.Tuple([rows, rows]), values)


FIX = Fix(
    id="index_put",
    what="index_put with boolean masks, broadcast values, None indices, symbolic index shapes",
    op="aten.index_put",
    affected="",
    converters={
        "index_put.default": index_put,
        "index_put_.default": index_put,
    },
    probe=_probe.any_of(
        _still_wrong,
        _values_are_read_outside,
        _symbolic_places_fail,
        _rows_fail,
        _numbers_fail,
    ),
)
