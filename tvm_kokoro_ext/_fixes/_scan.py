"""Running extrema along an axis, as kernels with a serial loop over it."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import IRBuilder, T, relax, te, tirx


def extremum(importer: Any, x: Any, axis: int, *, largest: bool) -> Any:
    """The tuple (values, int64 indices) of cummax or cummin along `axis`.

    Of equal elements the last one counts, and NaN wins over every number, as in torch.
    """
    shape = _compat.shape_of(x)
    order = [a for a in range(len(shape)) if a != axis] + [axis]
    back = [order.index(a) for a in range(len(shape))]
    moved = axis != len(shape) - 1
    last = _emit.emit(importer, relax.op.permute_dims(x, order)) if moved else x

    def compute(data: Any) -> list[Any]:
        return list(_scan(data, largest))

    pair = _emit.emit_te(importer, compute, last, hint="cummax" if largest else "cummin")
    results = [_emit.emit(importer, relax.TupleGetItem(pair, i)) for i in range(2)]
    if moved:
        results = [_emit.emit(importer, relax.op.permute_dims(r, back)) for r in results]
    return _emit.emit(importer, relax.Tuple(results))


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
