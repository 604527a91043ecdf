"""bincount, histc, mode and embedding_bag, as serial loops over the data."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import T, relax, te, tirx
from tvm_kokoro_ext._fix import Converter, Fix
from tvm_kokoro_ext._fixes._shared import extremum, loops, requirements


def bincount(importer: Any, node: Any, previous: Any) -> Any:
    """The number of occurrences of each value; the length is only known at run time."""
    x, weights, least = _emit.arguments(importer, node, "self", "weights", "minlength", minlength=0)
    least = _emit.scalar(importer, _compat.prim(least), "int64")
    if _compat.shape_of(x)[0] == 0:
        size = _emit.emit(importer, relax.op.reshape(least, [1]))
        length = _emit.dimension(importer, size, f"{node.name}_length")
        return _emit.emit(importer, relax.op.zeros(relax.ShapeExpr([length]), "int64"))
    x = _emit.astype(importer, x, "int64")
    most = _emit.emit(importer, relax.op.max(x, axis=[0], keepdims=True))
    size = _emit.emit(importer, relax.op.add(most, relax.const(1, "int64")))
    size = _emit.emit(importer, relax.op.maximum(size, least))
    length = _emit.dimension(importer, size, f"{node.name}_length")
    dtype = "int64" if weights is None else "float64"
    if weights is not None and _compat.dtype_of(weights) == "float32":
        dtype = "float32"
    given = [] if weights is None else [_emit.astype(importer, weights, dtype)]

    def body(dims: Any, out: Any, negative: Any, data: Any, *rest: Any) -> None:
        *scales, count = rest
        negative[0] = tirx.const(0, "int64")
        with T.serial(0, dims[0][0]) as i:
            out[i] = tirx.const(0, dtype)
        with T.serial(0, count) as i, T.If(data[i] >= 0):
            with T.Then():
                out[data[i]] += scales[0][i] if scales else tirx.const(1, dtype)
            with T.Else():
                negative[0] += tirx.const(1, "int64")

    items = _emit.int64(_compat.shape_of(x)[0])
    results = [([length], dtype), ([1], "int64")]
    counts, negative = loops.emit(importer, body, results, x, *given, items, hint="bincount")
    requirements.require_all_zero(importer, negative, f"{node.name}_negative")
    return counts


def histc(importer: Any, node: Any, previous: Any) -> Any:
    x, bins, low, high = _emit.arguments(
        importer, node, "self", "bins", "min", "max", bins=100, min=0, max=0
    )
    if 0 in _compat.shape_of(x):
        return _emit.filled(importer, node.meta["val"], 0)
    dtype = _compat.dtype_of(x)
    bounds = [relax.const(float(bound), dtype) for bound in (low, high)]
    if low == high:
        bounds = [_emit.emit(importer, reduce(x)) for reduce in (relax.op.min, relax.op.max)]
        for bound, name in zip(bounds, ("least", "most"), strict=True):
            infinite = relax.op.logical_not(_emit.emit(importer, relax.op.isfinite(bound)))
            requirements.require_none(importer, infinite, f"{node.name}_{name}")
    bounds = [_emit.emit(importer, relax.op.reshape(bound, [1])) for bound in bounds]

    def body(dims: Any, out: Any, data: Any, first: Any, last: Any, count: Any) -> None:
        one = tirx.const(1, dtype)
        # If all elements are equal, torch extends the range by one on both sides.
        alike = first[0] == last[0]
        start = tirx.Select(alike, first[0] - one, first[0])
        end = tirx.Select(alike, last[0] + one, last[0])
        with T.serial(0, bins) as i:
            out[i] = tirx.const(0, dtype)
        with T.serial(0, count) as i:
            share = (data[i] - start) / (end - start) * tirx.const(bins, dtype)
            # The share is NaN where the range is infinite in the dtype.
            inside = tirx.all(data[i] >= start, data[i] <= end, share >= tirx.const(0, dtype))
            with T.If(inside), T.Then():
                place = tirx.Cast("int64", tirx.floor(share))
                out[tirx.min(place, tirx.const(bins - 1, "int64"))] += one

    count = _emit.int64(_emit.extent(_compat.shape_of(x)))
    results = [([bins], dtype)]
    return loops.emit(importer, body, results, x, *bounds, count, hint="histc")[0]


def mode(importer: Any, node: Any, previous: Any) -> Any:
    """The most frequent value along an axis (the smallest one if tied), and its last index.

    As in PyTorch, a NaN is like no other value.
    """
    x, dim, keep = _emit.arguments(importer, node, "self", "dim", "keepdim", dim=-1, keepdim=False)
    rank, dtype = _compat.rank_of(x), _compat.dtype_of(x)
    axis = _emit.normalize_axis(dim, rank)
    order = [a for a in range(rank) if a != axis] + [axis]
    moved = _emit.emit(importer, relax.op.permute_dims(x, order)) if axis != rank - 1 else x
    *outer, steps = _compat.shape_of(moved)

    def body(dims: Any, values: Any, places: Any, most: Any, seen: Any, data: Any, n: Any) -> None:
        with T.serial(0, _emit.extent(dims[0])) as row:
            most[0] = tirx.const(0, "int64")
            with T.serial(0, n) as i:
                value = data[row * n + i]
                seen[0] = tirx.const(0, "int64")
                with (
                    T.serial(0, n) as j,
                    T.If(tirx.any(data[row * n + j] == value, i == j)),
                    T.Then(),
                ):
                    seen[0] += tirx.const(1, "int64")
                tied = tirx.all(seen[0] == most[0], value <= values[row])
                with T.If(tirx.any(seen[0] > most[0], tied)), T.Then():
                    most[0] = seen[0]
                    values[row] = value
                    places[row] = tirx.Cast("int64", i)

    results = [(outer, dtype), (outer, "int64"), ([1], "int64"), ([1], "int64")]
    arguments = (moved, _emit.int64(steps))
    pair = loops.emit(importer, body, results, *arguments, hint="mode")[:2]
    kept = list(outer)
    if keep:
        kept.insert(axis, 1)
    pair = [_emit.emit(importer, relax.op.reshape(item, kept)) for item in pair]
    return _emit.emit(importer, relax.Tuple(pair))


def _padding_row(node: Any, rows: Any, given: int | None) -> int:
    """The row that is ignored in all bags, or -1 for none, as in ATen's inner operator."""
    if given is None or given >= 0 or node.target.__name__ != "embedding_bag.padding_idx":
        return -1 if given is None else int(given)
    if not isinstance(rows, int):
        raise _emit.refuse(
            node,
            "a negative padding_idx in a table of a symbolic number of rows",
            "Count padding_idx from the start, or export a constant number of rows",
        )
    return rows + int(given)


def _outside(offsets: Any, total: Any) -> Any:
    """For each offset, whether it is not within the indices, or the first one and not 0."""

    def compute(i: Any) -> Any:
        last = tirx.Select(i == 0, tirx.const(0, "int64"), total)
        return tirx.any(offsets[i] < 0, offsets[i] > last)

    return te.compute(offsets.shape, compute, name="outside")


def embedding_bag(importer: Any, node: Any, previous: Any) -> Any:
    """The sum, mean or maximum of the rows in each bag."""
    weight, indices, offsets, _, kind, _, scales, last_included, padding = _emit.arguments(
        importer,
        node,
        *("weight", "indices", "offsets", "scale_grad_by_freq", "mode", "sparse"),
        *("per_sample_weights", "include_last_offset", "padding_idx"),
        mode=0,
        include_last_offset=False,
        padding_idx=-1,
    )
    if any(user.args[1] != 0 and user.users for user in node.users):
        raise _emit.refuse(node, "a result other than the bags", "Use F.embedding_bag's result")
    dtype, width = _compat.dtype_of(weight), _compat.shape_of(weight)[1]
    bags = _compat.shape_of(offsets)[0]
    bags = bags - 1 if last_included else bags
    padding = _padding_row(node, _compat.shape_of(weight)[0], padding)
    indices, offsets = (_emit.astype(importer, t, "int64") for t in (indices, offsets))
    weighted = [] if scales is None else [scales]
    total = _emit.int64(_compat.shape_of(indices)[0])
    outside = _emit.emit_te(importer, _outside, offsets, total, hint="outside")
    requirements.require_none(importer, outside, f"{node.name}_outside")

    def body(
        dims: Any, out: Any, used: Any, table: Any, names: Any, starts: Any, *rest: Any
    ) -> None:
        *factors, total = rest
        count, size = dims[0]
        nothing = tirx.const(0, dtype)
        with loops.grid(count, size) as (bag, column):
            at = bag * size + column
            end = (
                starts[bag + 1]
                if last_included
                else tirx.if_then_else(bag + 1 < count, starts[tirx.min(bag + 1, count - 1)], total)
            )
            out[at] = nothing
            used[0] = tirx.const(0, "int64")
            with T.serial(0, end - starts[bag]) as k:
                place = starts[bag] + k
                with T.If(names[place] != tirx.const(padding, "int64")), T.Then():
                    value = table[names[place] * size + column]
                    if factors:
                        value = value * factors[0][place]
                    if kind == _MAXIMUM:
                        larger = extremum.maximum(out[at], value)
                        out[at] = tirx.if_then_else(used[0] == 0, value, larger)
                    else:
                        out[at] += value
                    used[0] += tirx.const(1, "int64")
            if kind == _MEAN:
                with T.If(used[0] > 0), T.Then():
                    out[at] = out[at] / tirx.Cast(dtype, used[0])

    results = [([bags, width], dtype), ([1], "int64")]
    arguments = (weight, indices, offsets, *weighted, total)
    first = loops.emit(importer, body, results, *arguments, hint="embedding_bag")[0]
    return _emit.emit(importer, relax.Tuple([first] * 4))


_MEAN, _MAXIMUM = 1, 2  # torch's codes for the modes of embedding_bag

_CONVERTERS: dict[str, Converter] = {
    "bincount.default": bincount,
    "histc.default": histc,
    "mode.default": mode,
    "embedding_bag.padding_idx": embedding_bag,
    "_embedding_bag_forward_only.default": embedding_bag,
    "_embedding_bag.default": embedding_bag,
}

FIX = Fix(
    id="counting",
    what="bincount, histc, mode and embedding_bag are missing",
    op="aten.bincount, aten.histc, aten.mode, aten.embedding_bag",
    affected="",
    converters=_CONVERTERS,
    probe=_probe.lacks(*_CONVERTERS),
)
