"""Running extrema and log-sums along an axis, as kernels with a serial loop over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import IRBuilder, T, relax, te, tirx
from tvm_kokoro_ext._fixes._shared import extremum as _extremum


def extremum(importer: Any, x: Any, axis: int, *, largest: bool) -> Any:
    """The tuple (values, int64 indices) of cummax or cummin along `axis`.

    As in torch, the last one of equal elements is chosen, and NaN takes precedence over numbers.
    """

    def scan(last: Any) -> list[Any]:
        hint = "cummax" if largest else "cummin"
        pair = _emit.emit_te(importer, lambda data: list(_scan(data, largest)), last, hint=hint)
        return [_emit.emit(importer, relax.TupleGetItem(pair, i)) for i in range(2)]

    return _emit.emit(importer, relax.Tuple(_along(importer, x, axis, scan)))


def log_sum(importer: Any, x: Any, axis: int) -> Any:
    """logcumsumexp along `axis`; all elements from the first NaN on are NaN."""

    def scan(last: Any) -> list[Any]:
        both = _emit.emit_te(importer, _log_sum, last, hint="logcumsumexp")
        return [_emit.emit(importer, relax.TupleGetItem(both, 0))]

    return _along(importer, x, axis, scan)[0]


def _along(importer: Any, x: Any, axis: int, scan: Callable[[Any], list[Any]]) -> list[Any]:
    """The results of a scan along `axis`, given a function that scans the last axis."""
    rank = _compat.rank_of(x)
    if axis == rank - 1:
        return scan(x)
    order = [a for a in range(rank) if a != axis] + [axis]
    back = [order.index(a) for a in range(rank)]
    results = scan(_emit.emit(importer, relax.op.permute_dims(x, order)))
    return [_emit.emit(importer, relax.op.permute_dims(result, back)) for result in results]


def _scan(data: Any, largest: bool) -> Any:
    """Scan the last axis of a TE tensor."""
    dtype = str(data.dtype)
    steps = data.shape[-1]
    rows = _emit.extent(list(data.shape[:-1]))

    def body(inputs: Any, outputs: Any) -> Any:
        source = T.buffer_proxy(inputs[0])
        values, places = (T.buffer_proxy(buffer) for buffer in outputs)
        with IRBuilder() as ib:
            with T.serial(0, rows) as row, T.serial(0, steps) as step:
                at = row * steps + step
                before = row * steps + tirx.max(step - 1, 0)
                new, old = source[at], values[before]
                wins = new >= old if largest else new <= old
                if "float" in dtype:
                    wins = tirx.any(wins, tirx.isnan(new))
                wins = tirx.any(step == 0, wins)
                places[at] = tirx.if_then_else(wins, tirx.Cast("int64", step), places[before])
                values[at] = tirx.if_then_else(wins, new, old)
            return ib.get()

    shapes = [tuple(data.shape)] * 2
    return te.extern(shapes, [data], body, dtype=[dtype, "int64"], name="cumulative_extremum")


def _log_sum(data: Any) -> Any:
    """log(exp(x_0) + … + exp(x_i)) along the last axis, and the same in float64.

    The sum grows by ever smaller parts of itself, which float32 would round at each step.
    """
    dtype = str(data.dtype)
    steps = data.shape[-1]
    rows = _emit.extent(list(data.shape[:-1]))

    def body(inputs: Any, outputs: Any) -> Any:
        source = T.buffer_proxy(inputs[0])
        rounded, sums = (T.buffer_proxy(buffer) for buffer in outputs)
        with IRBuilder() as ib:
            with T.serial(0, rows) as row, T.serial(0, steps) as step:
                at = row * steps + step
                new = tirx.Cast("float64", source[at])
                old = sums[row * steps + tirx.max(step - 1, 0)]
                large, small = _extremum.maximum(new, old), _extremum.minimum(new, old)
                both = large + tirx.log1p(tirx.exp(small - large))
                # The difference of two infinities would be NaN.
                both = tirx.if_then_else(tirx.isinf(large), large, both)
                sums[at] = tirx.if_then_else(step == 0, new, both)
                rounded[at] = tirx.Cast(dtype, sums[at])
            return ib.get()

    shapes = [tuple(data.shape)] * 2
    return te.extern(shapes, [data], body, dtype=[dtype, "float64"], name="logcumsumexp")
