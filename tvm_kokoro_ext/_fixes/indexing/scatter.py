"""scatter and scatter_add with an index that is smaller than the tensor or the source.

Torch only reads and writes within the shape of the index. Stock's kernel mixes the extents of the
tensor and the index for the other axes, and writes to wrong positions; a source that is larger than
the index is rejected. Before 0.27 there is no scatter of a tensor at all.
"""

from __future__ import annotations

import re
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import indexing

_REDUCTIONS = {None: "update", "add": "add", "multiply": "mul"}


def scatter(importer: Any, node: Any, previous: Any) -> Any:
    """scatter with a tensor or a number as its source; `reduce` adds or multiplies."""
    x, dim, index, source = _emit.arguments(importer, node, "self", "dim", "index", "src")
    if source is None:
        source = importer._retrieve_args(node.kwargs["value"])
    reduction = _REDUCTIONS[node.kwargs.get("reduce")]
    if reduction != "update" and _compat.dtype_of(x) == "bool" and not _compat.is_tensor(source):
        # No kernel adds bools. Their sum is true where a term is: any number but 0, also 0.5.
        operands = (_emit.astype(importer, x, "int32"), dim, index, int(bool(source)))
        counted = _scatter(importer, node, None, operands, reduction)
        return _emit.astype(importer, counted, "bool")
    return _scatter(importer, node, previous, (x, dim, index, source), reduction)


def scatter_add(importer: Any, node: Any, previous: Any) -> Any:
    operands = _emit.arguments(importer, node, "self", "dim", "index", "src")
    return _scatter(importer, node, previous, operands, "add")


def _scatter(importer: Any, node: Any, previous: Any, operands: Any, reduction: str) -> Any:
    x, dim, index, source = operands
    shape, place = _compat.shape_of(x), _compat.shape_of(index)
    if not shape:
        raise _emit.refuse(node, "the tensor has no axis", "Write it with torch.where")
    axis = _emit.normalize_axis(dim, len(shape))
    tensor = _compat.is_tensor(source)
    # Stock uses the extents of the index on each side of the axis: only the first may be smaller.
    counted = [a for a in range(len(shape)) if a not in (0, axis, axis + 1)]
    covers = all(_same(shape[a], place[a]) for a in counted)
    if tensor:
        covers &= all(map(_same, _compat.shape_of(source), place))
    if covers and previous is not None:
        return previous(node)
    dtype = _compat.dtype_of(x)
    source = _emit.tensor_or_scalar(importer, source, dtype)
    if covers and tensor:
        whole = relax.op.scatter_elements(x, index, source, axis=axis, reduction=reduction)
        return _emit.emit(importer, whole)
    positions = _positions(importer, x, index, axis)
    values = _corner(importer, source, place)
    flat = relax.op.scatter_elements(
        indexing.flatten(importer, x),
        indexing.flatten(importer, positions),
        indexing.flatten(importer, values),
        axis=0,
        reduction=reduction,
    )
    return _emit.emit(importer, relax.op.reshape(_emit.emit(importer, flat), shape))


def _same(first: Any, second: Any) -> bool:
    return _compat.prim_equal(_emit.int64(first), _emit.int64(second))


def _positions(importer: Any, x: Any, index: Any, axis: int) -> Any:
    """For every element of the index, its offset in the flattened `x`."""

    def compute(data: Any, chosen: Any) -> Any:
        def offset(*at: Any) -> Any:
            total: Any = tirx.const(0, "int64")
            for a, dim in enumerate(data.shape):
                i = indexing.wrapped(chosen(*at), dim) if a == axis else at[a]
                total = total * dim + i
            return total

        return te.compute(chosen.shape, offset, name="scatter_positions")

    return _emit.emit_te(importer, compute, x, index, hint="scatter_positions")


def _corner(importer: Any, source: Any, shape: list[Any]) -> Any:
    """The part of the source (a tensor, or a 0-d tensor that is broadcast) within the index."""

    def compute(data: Any, out: Any) -> Any:
        read = (lambda *at: data(*at)) if data.shape else (lambda *at: data())
        return te.compute(tuple(out), read, name="scatter_source")

    return _emit.emit_te(importer, compute, source, shape, hint="scatter_source")


@_probe.wrong
def _rows_are_exchanged() -> bool:
    """Whether a row of a smaller index is taken for a row of the tensor with the same number."""

    def apply(x: Any, index: Any, source: Any) -> Any:
        return relax.op.scatter_elements(x, index, source, axis=2)

    shapes = _probe.Input((2, 5, 4)), _probe.Input((2, 3, 4), "int64"), _probe.Input((2, 3, 4))
    return re.search(r"% (T\.int64\()?3\b", _probe.legalized(apply, *shapes).script()) is None


FIX = Fix(
    id="scatter",
    what="scatter with an index smaller than the tensor writes wrong places; scatter.src (<0.27)",
    op="aten.scatter, aten.scatter_add",
    affected="",
    converters={
        "scatter.src": scatter,
        "scatter.value": scatter,
        "scatter.reduce": scatter,
        "scatter.value_reduce": scatter,
        "scatter_add.default": scatter_add,
    },
    probe=_probe.any_of(
        _probe.lacks("scatter.reduce", "scatter.value_reduce", "scatter_add.default"),
        _rows_are_exchanged,
    ),
)
