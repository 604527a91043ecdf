"""scatter_reduce with every reduction, and masked_scatter."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _checks, _compat, _emit, _probe
from tvm_kokoro_ext._compat import T, relax, te, tirx
from tvm_kokoro_ext._fix import Converter, Fix
from tvm_kokoro_ext._fixes._shared import extremum, indexing, loops
from tvm_kokoro_ext._fixes.indexing import index_put


def scatter_reduce(importer: Any, node: Any, previous: Any) -> Any:
    x, dim, index, source, reduce, include_self = _emit.arguments(
        importer,
        node,
        *("self", "dim", "index", "src", "reduce", "include_self"),
        include_self=True,
    )
    rank = _compat.rank_of(x)
    if rank == 0:
        raise _emit.refuse(node, "a tensor without dimensions", "Reshape it to [1]")
    axis = _emit.normalize_axis(dim, rank)
    shape, dtype = _compat.shape_of(x), _compat.dtype_of(x)
    places = [_emit.int64(d) for d in _compat.shape_of(index)]
    given = [_emit.int64(d) for d in _compat.shape_of(source)]

    def body(dims: Any, out: Any, count: Any, data: Any, rows: Any, src: Any, *rest: Any) -> None:
        own, extents, sizes = dims[0], rest[:rank], rest[rank:]
        total = _emit.extent(own)

        def target(at: Any) -> Any:
            row = tirx.Cast("int64", rows[loops.flat(at, extents)])
            return loops.flat([*at[:axis], row, *at[axis + 1 :]], own)

        with T.serial(0, total) as i:
            out[i] = data[i]
            count[i] = tirx.const(1 if include_self else 0, "int64")
        if not include_self:
            with loops.grid(*extents) as at:
                out[target(at)] = _identity(reduce, dtype)
        with loops.grid(*extents) as at:
            goal = target(at)
            out[goal] = _combine(reduce, dtype, out[goal], src[loops.flat(at, sizes)])
            count[goal] += tirx.const(1, "int64")
        if reduce == "mean":
            with T.serial(0, total) as i:
                divisor = tirx.Cast(dtype, tirx.max(count[i], tirx.const(1, "int64")))
                whole = "float" not in dtype
                out[i] = tirx.floordiv(out[i], divisor) if whole else out[i] / divisor

    results = [(shape, dtype), (shape, "int64")]
    arguments = (x, index, source, *places, *given)
    return loops.emit(importer, body, results, *arguments, hint=f"scatter_{reduce}")[0]


def _identity(reduce: str, dtype: str) -> Any:
    if reduce in ("amax", "amin"):
        lowest = reduce == "amax"
        if "float" in dtype:
            infinite = tirx.infinity(dtype)
            return -infinite if lowest else infinite
        return tirx.min_value(dtype) if lowest else tirx.max_value(dtype)
    return tirx.const(1 if reduce == "prod" else 0, dtype)


def _combine(reduce: str, dtype: str, old: Any, new: Any) -> Any:
    floating = "float" in dtype
    if reduce == "amax":
        return extremum.maximum(old, new) if floating else tirx.max(old, new)
    if reduce == "amin":
        return extremum.minimum(old, new) if floating else tirx.min(old, new)
    return old * new if reduce == "prod" else old + new


def masked_scatter(importer: Any, node: Any, previous: Any) -> Any:
    """Write the elements of the source to the selected positions in order."""
    x, mask, source = _emit.arguments(importer, node, "self", "mask", "source")
    shape = indexing.broadcast_shapes([_compat.shape_of(x), _compat.shape_of(mask)])
    x, mask = (_emit.emit(importer, relax.op.broadcast_to(t, shape)) for t in (x, mask))
    order = index_put.selected_before(importer, mask)
    given, most = (_emit.int64(_emit.extent(dims)) for dims in (_compat.shape_of(source), shape))
    if not _compat.analyzer_of_sizes(given, most).can_prove(most <= given):
        _checks.check(importer, index_put.number_selected(importer, node, mask, order) <= given)

    def compute(data: Any, chosen: Any, number: Any, values: Any) -> Any:
        def put(*at: Any) -> Any:
            return tirx.if_then_else(chosen(*at), values(number(*at)), data(*at))

        return te.compute(data.shape, put, name="masked_scatter")

    values = indexing.flatten(importer, source)
    return _emit.emit_te(importer, compute, x, mask, order, values, hint="masked_scatter")


_CONVERTERS: dict[str, Converter] = {
    "scatter_reduce.two": scatter_reduce,
    "masked_scatter.default": masked_scatter,
}

FIX = Fix(
    id="scatter_reduce",
    what="scatter_reduce and masked_scatter are missing",
    op="aten.scatter_reduce, aten.masked_scatter",
    affected="",
    converters=_CONVERTERS,
    probe=_probe.lacks(*_CONVERTERS),
)
