"""Sorting with NaN as the largest number, as in torch.

TVM sorts with `<`, which is not an order if there are NaNs, so that other elements are not sorted
either. Here it sorts integers with the same order as the numbers.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax, te, tirx, tvm
from tvm_kokoro_ext._fix import Fix, needs_previous
from tvm_kokoro_ext._fixes._shared import extremum


def keys(importer: Any, x: Any) -> Any:
    """Integers in the order of the floats of `x`, with equal zeros of both signs and NaN last."""
    return _emit.emit_te(importer, extremum.keys, x, hint="key")


def _numbers(importer: Any, ordered: Any, dtype: str) -> Any:
    return _emit.emit_te(importer, partial(extremum.numbers, dtype=dtype), ordered, hint="number")


#: TVM's function that sorts knows none of these; a dtype that it knows and that has their numbers.
_WIDER = {
    **dict.fromkeys(("bool", "int8", "uint8", "int16", "uint16"), "int32"),
    "uint32": "int64",
}


def _turned(importer: Any, x: Any, dtype: str) -> Any:
    """int64 in the order of uint64, and back: the same bits but the first."""

    def compute(data: Any) -> Any:
        def element(*at: Any) -> Any:
            bits = tirx.reinterpret("int64", data(*at))
            return tirx.reinterpret(dtype, tirx.bitwise_xor(bits, tirx.min_value("int64")))

        return te.compute(data.shape, element, name="turned")

    return _emit.emit_te(importer, compute, x, hint="turned")


def orderable(importer: Any, x: Any) -> Any:
    """Numbers in the same order, equal where the elements are, of a dtype that TVM sorts."""
    dtype = _compat.dtype_of(x)
    if dtype in extremum.FLOATS:
        return keys(importer, x)
    if dtype == "uint64":
        return _turned(importer, x, "int64")
    return _emit.astype(importer, x, _WIDER.get(dtype, dtype))


def _restored(importer: Any, ordered: Any, dtype: str) -> Any:
    """What `orderable` was made of."""
    if dtype in extremum.FLOATS:
        return _numbers(importer, ordered, dtype)
    if dtype == "uint64":
        return _turned(importer, ordered, dtype)
    return _emit.astype(importer, ordered, dtype)


@needs_previous
def sort(importer: Any, node: Any, previous: Any) -> Any:
    """Operators that return values, alone or in a tuple with their indices."""
    x = importer.retrieve_args(node)[0]
    dtype = _compat.dtype_of(x)
    with _emit.standing_in(importer, node.args[0], orderable(importer, x)):
        made = previous(node)
    if not _compat.is_tuple(made):
        return _restored(importer, made, dtype)
    values, places = (_emit.emit(importer, relax.TupleGetItem(made, i)) for i in range(2))
    return _emit.emit(importer, relax.Tuple([_restored(importer, values, dtype), places]))


@needs_previous
def median(importer: Any, node: Any, previous: Any) -> Any:
    """With a NaN, the median is NaN, and its index is that of the first NaN."""
    x, dim, keep = _emit.arguments(importer, node, "self", "dim", "keepdim", keepdim=False)
    dtype = _compat.dtype_of(x)
    ordered = orderable(importer, x)
    with _emit.standing_in(importer, node.args[0], ordered):
        made = previous(node)
    if dtype not in extremum.FLOATS:
        if not _compat.is_tuple(made):
            return _restored(importer, made, dtype)
        values, places = (_emit.emit(importer, relax.TupleGetItem(made, i)) for i in range(2))
        return _emit.emit(importer, relax.Tuple([_restored(importer, values, dtype), places]))
    most = _emit.emit(importer, relax.op.max(ordered, dim, bool(keep)))
    kind = _compat.dtype_of(ordered)
    beyond = relax.const(_compat.as_int(tirx.max_value(kind)), kind)
    nan = _emit.emit(importer, relax.op.equal(most, beyond))
    if not _compat.is_tuple(made):
        chosen = _emit.emit(importer, relax.op.where(nan, most, made))
        return _numbers(importer, chosen, dtype)
    values, places = (_emit.emit(importer, relax.TupleGetItem(made, i)) for i in range(2))
    values = _emit.emit(importer, relax.op.where(nan, most, values))
    first = _emit.emit(importer, relax.op.argmax(ordered, dim, bool(keep)))
    places = _emit.emit(importer, relax.op.where(nan, first, places))
    return _emit.emit(importer, relax.Tuple([_numbers(importer, values, dtype), places]))


@needs_previous
def argsort(importer: Any, node: Any, previous: Any) -> Any:
    x = importer.retrieve_args(node)[0]
    with _emit.standing_in(importer, node.args[0], orderable(importer, x)):
        return previous(node)


def _stable_order(importer: Any, node: Any) -> tuple[Any, Any, int]:
    """The tensor, its sorting permutation, and the axis; TVM's sorts are stable."""
    names, defaults = ("self", "stable", "dim", "descending"), {"dim": -1, "descending": False}
    x, _, dim, descending = _emit.arguments(importer, node, *names, **defaults)
    axis = _emit.normalize_axis(dim, _compat.rank_of(x))
    places = relax.op.argsort(orderable(importer, x), axis, bool(descending), dtype="int64")
    return x, _emit.astype(importer, _emit.emit(importer, places), "int64"), axis


def sort_stable(importer: Any, node: Any, previous: Any) -> Any:
    x, places, axis = _stable_order(importer, node)
    values = _emit.emit(importer, relax.op.gather_elements(x, places, axis))
    return _emit.emit(importer, relax.Tuple([values, places]))


def argsort_stable(importer: Any, node: Any, previous: Any) -> Any:
    return _stable_order(importer, node)[1]


@cache
def misplaces_nan() -> bool:
    """Whether the kernels that TVM sorts floats with do not put NaN last."""
    x = relax.Var("x", _compat.tensor_type([8], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            order = builder.emit_output(relax.op.argsort(x, 0, dtype="int64"))
        builder.emit_func_output(order)
    target = tvm.target.Target({"kind": "llvm"})
    with target:
        built = relax.build(relax.backend.DispatchSortScan()(builder.get()), target)
    nan = np.nan
    given = np.array([nan, 2.0, 0.0, nan, 1.0, -1.0, nan, 3.0], "float32")
    made = relax.VirtualMachine(built, tvm.cpu())["main"](tvm.runtime.tensor(given)).numpy()
    return not np.array_equal(made, [5, 2, 4, 1, 7, 0, 3, 6])


FIX = Fix(
    id="nan_order",
    what="sort, argsort, topk and median beside NaN are unsorted; stable ones are missing",
    op="aten.sort, aten.argsort, aten.topk, aten.median, aten.kthvalue",
    affected="",
    converters={
        **dict.fromkeys(("sort.default", "topk.default"), sort),
        **dict.fromkeys(("median.default", "median.dim"), median),
        "argsort.default": argsort,
        "sort.stable": sort_stable,
        "argsort.stable": argsort_stable,
    },
    probe=_probe.any_of(misplaces_nan, _probe.lacks("sort.stable", "argsort.stable")),
)
