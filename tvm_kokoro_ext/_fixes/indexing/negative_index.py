"""Negative indices count from the end, and `x[i, :, j]` pairs i with j.

Stock reads before the tensor for a negative index in `x[:, i]` or `x.select(1, -1)`, and takes
the outer product of index tensors that are separated by a slice.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _checks, _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax, te
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import indexing
from tvm_kokoro_ext._fixes.indexing import _ranges


def select(importer: Any, node: Any, previous: Any) -> Any:
    x, axis, index = _emit.arguments(importer, node, "self", "dim", "index")
    shape = _compat.shape_of(x)
    axis = _emit.normalize_axis(axis, len(shape))
    constant = _compat.as_int(index)
    if constant is None:
        position = indexing.wrapped(_compat.prim(index), shape[axis])
    else:
        position = constant + (shape[axis] if constant < 0 else 0)
    place, size = _emit.int64(position), _emit.int64(shape[axis])
    _checks.require(importer, place >= 0, place < size)
    if isinstance(position, int):
        return _emit.emit(importer, relax.op.take(x, relax.const(position, "int64"), axis))

    def compute(data: Any, at: Any) -> Any:
        dims = list(data.shape)
        return te.compute(
            tuple(dims[:axis] + dims[axis + 1 :]),
            lambda *i: data(*i[:axis], at, *i[axis:]),
            name="select",
        )

    return _emit.emit_te(importer, compute, x, place, hint="select")


def index(importer: Any, node: Any, previous: Any) -> Any:
    x, indices = _emit.arguments(importer, node, "self", "indices")
    given = [i for i in indices if i is not None]
    if not given or any(_compat.dtype_of(i) in ("bool", "uint8") for i in given):
        return previous(node)
    if _stock_is_right(node, indices):
        return previous(node)
    return indexing.gather(importer, x, list(indices), hint="index")


def _stock_is_right(node: Any, indices: list[Any]) -> bool:
    """Whether all indices are nonnegative, and separated indices form an outer product anyway.

    Stock drops the axes of one element of a matrix of indices, which it cannot of a symbolic shape.
    """
    sources = [source for source in node.args[1] if source is not None]
    if not node.target.__name__.startswith("index.") or not all(map(_ranges.nonnegative, sources)):
        return False
    given = [_compat.shape_of(index) for index in indices if index is not None]
    if len(given) == 1 or len(given) == len(indices):
        return True
    if len(given) > 2 or not all(isinstance(dim, int) for s in given if len(s) > 1 for dim in s):
        return False
    rank = max(len(shape) for shape in given)
    spanned = [
        [axis + rank - len(shape) for axis, dim in enumerate(shape) if dim != 1] for shape in given
    ]
    adjacent = all(index is not None for index in indices[len(indices) - len(given) :])
    return adjacent and spanned == [[axis] for axis in range(rank)]


@_probe.wrong
def _still_wrong() -> bool:
    x, rows = _probe.Input((5, 4)), _probe.Input((2,), "int64")
    read = _probe.convert("index.Tensor", x, [None, rows], out=((5, 2), "float32"))
    selected = _probe.convert("select.int", _probe.Input(("n", 4)), 0, -1, out=((4,), "float32"))
    return any(_takes_as_given(made.function) for made in (read, selected))


def _takes_as_given(function: Any) -> bool:
    """Whether the function contains a take that does not support negative indices."""
    found = []

    def visit(expression: Any) -> None:
        if isinstance(expression, relax.Call) and str(expression.op) == "Op(relax.take)":
            found.append(str(expression.attrs.mode) != "wrap")

    relax.analysis.post_order_visit(function, visit)
    return any(found)


@_probe.wrong
def _outer_product() -> bool:
    x, places = _probe.Input((5, 4, 3)), _probe.Input((2,), "int64")
    wanted = {(None, places, places): (5, 2), (places, None, places): (2, 4)}
    return any(
        _probe.convert("index.Tensor", x, list(where), out=(shape, "float32")).shape != shape
        for where, shape in wanted.items()
    )


@_probe.wrong
def _reads_before_the_tensor() -> bool:
    """Whether an index is used without a comparison."""
    x, rows = _probe.Input((5, 4)), _probe.Input((2,), "int64")
    module = _probe.legalized(_read_at, x, rows, rows)
    kernels = [str(f) for name, f in module.functions_items() if name.name_hint != "main"]
    return not any("< T.int64(0)" in text for text in kernels)


@_probe.wrong
def _symbolic_place_fails() -> bool:
    x, place = _probe.Input(("n", 4)), _probe.Symbol("n", 2)
    return _probe.convert("select.int", x, 0, place, out=((4,), "float32")).shape is None


def _read_at(x: Any, rows: Any, columns: Any) -> Any:
    return relax.op.index_tensor(x, [rows, columns])


FIX = Fix(
    id="negative_index",
    what="negative indices read out of bounds; x[i, :, j] is an outer product",
    op="aten.index, aten.select",
    affected="",
    converters={"select.int": select, "index.Tensor": index},
    probe=_probe.any_of(
        _still_wrong, _outer_product, _reads_before_the_tensor, _symbolic_place_fails
    ),
)
