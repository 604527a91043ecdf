"""kthvalue, by sorting."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _checks, _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax, te
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.sorting import nan_order


def kthvalue(importer: Any, node: Any, previous: Any) -> Any:
    x, k, dim, keep = _emit.arguments(
        importer, node, "self", "k", "dim", "keepdim", dim=-1, keepdim=False
    )
    size = _compat.shape_of(x)[dim]
    _checks.require(importer, _emit.int64(size) >= _compat.prim(k))
    return _at_rank(importer, x, _compat.prim(k) - 1, dim, bool(keep))


def _at_rank(importer: Any, x: Any, rank: Any, dim: int, keep: bool) -> Any:
    """The tuple (value, index) of the element with `rank` smaller elements along `dim`."""
    axis = _emit.normalize_axis(dim, _compat.rank_of(x))
    ordered = nan_order.orderable(importer, x)
    order = _emit.emit(importer, relax.op.argsort(ordered, axis=axis, dtype="int64"))

    def select(sorted_order: Any, position: Any) -> Any:
        shape = [1 if a == axis else d for a, d in enumerate(sorted_order.shape)]
        kept = shape if keep else shape[:axis] + shape[axis + 1 :]

        def read(*at: Any) -> Any:
            rest = list(at[:axis]) + list(at[axis + 1 :] if keep else at[axis:])
            return sorted_order(*rest[:axis], position, *rest[axis:])

        return te.compute(tuple(kept), read, name="at_rank")

    def value(data: Any, places: Any) -> Any:
        def read(*at: Any) -> Any:
            rest = list(at[:axis]) + list(at[axis + 1 :] if keep else at[axis:])
            return data(*rest[:axis], places(*at), *rest[axis:])

        return te.compute(places.shape, read, name="value_at")

    index = _emit.emit_te(importer, select, order, _emit.int64(rank), hint="at_rank")
    chosen = _emit.emit_te(importer, value, x, index, hint="value_at")
    return _emit.emit(importer, relax.Tuple([chosen, index]))


FIX = Fix(
    id="kthvalue",
    what="kthvalue is missing",
    op="aten.kthvalue",
    affected="",
    converters={"kthvalue.default": kthvalue},
    probe=_probe.lacks("kthvalue.default"),
)
