"""max, min, argmax and argmin propagate NaN and find the first NaN, as in torch."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import IRBuilder, T, relax, te, tirx, tvm
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import extremum, loops
from tvm_kokoro_ext._fixes._shared.legalization import Override, overriding


def _reduction(largest: bool) -> Override:
    """relax.max or relax.min: TVM's reducer applied to integer keys, converted back.

    On a CPU, the last axes are reduced as floats in lanes.
    """
    reduce, hint = (te.max, "max") if largest else (te.min, "min")

    def legalize(below: Any, builder: Any, call: Any) -> Any:
        dtype, rank = _compat.dtype_of(call.args[0]), _compat.rank_of(call.args[0])
        given = call.attrs.axis
        axes = sorted(
            _emit.normalize_axis(int(axis), rank)
            for axis in (range(rank) if given is None else given)
        )
        if dtype not in extremum.FLOATS or not axes:
            return below(builder, call)
        keep = bool(call.attrs.keepdims)
        size = _compat.shape_of(call.args[0])[-1]
        is_long = not isinstance(size, int) or size >= _LANES
        if is_long and axes == list(range(axes[0], rank)) and _is_for_vectors(dtype):

            def in_lanes(x: Any) -> Any:
                return _in_lanes(x, axes[0], largest, keep)

            return builder.call_te(in_lanes, call.args[0], primfunc_name_hint=hint)

        def compute(x: Any) -> Any:
            inner = [te.reduce_axis((0, x.shape[axis]), name=f"k{axis}") for axis in axes]

            def extreme(*at: Any) -> Any:
                outer = iter([i for a, i in enumerate(at) if not (keep and a in axes)])
                place = [inner[axes.index(a)] if a in axes else next(outer) for a in range(rank)]
                return reduce(extremum.key(x(*place), largest), axis=inner)

            shape = [1 if a in axes else d for a, d in enumerate(x.shape) if keep or a not in axes]
            keys = te.compute(tuple(shape), extreme, name=f"{hint}_key")
            return te.compute(
                tuple(shape), lambda *at: extremum.number(keys(*at), dtype), name=hint
            )

        return builder.call_te(compute, call.args[0], primfunc_name_hint=hint)

    return legalize


def _is_for_vectors(dtype: str) -> bool:
    """Whether floats are compared as they are: by CPUs, whose vectors the lanes become."""
    target = tvm.target.Target.current(allow_none=True)
    return dtype in ("float32", "float64") and target is not None and target.kind.name == "llvm"


_LANES = 16


def _in_lanes(x: Any, first: int, largest: bool, keep: bool) -> Any:
    """The extremum over the axes from `first` on.

    LLVM keeps the order in which floats are compared, so there are several extrema side by side,
    which are compared as a vector, and then one of them all.
    """
    dtype, last = x.dtype, x.shape[-1]
    lowest = tirx.const(-math.inf if largest else math.inf, dtype)
    whole = tirx.floordiv(last, _LANES)
    outer = list(x.shape[:first]) or [tirx.const(1, "int64")]

    def choose(found: Any, number: Any) -> Any:
        beyond = number > found if largest else number < found
        return tirx.Select(tirx.any(tirx.isnan(number), beyond), number, found)

    def build(inputs: Any, results: Any) -> Any:
        (data,), (out, lanes) = (list(map(T.buffer_proxy, given)) for given in (inputs, results))

        def row(place: list[Any]) -> None:
            def add(lane: Any, start: Any) -> None:
                spot = (*place, start + lane)
                lanes[lane] = choose(lanes[lane], data[spot])

            with T.serial(0, whole) as part, T.serial(0, _LANES) as lane:
                add(lane, part * _LANES)
            with T.serial(0, last - whole * _LANES) as lane:
                add(lane, whole * _LANES)

        with IRBuilder() as ib:
            with T.seq_scope(), loops.grid(*outer) as at:
                with T.serial(0, _LANES) as lane:
                    lanes[lane] = lowest
                place = at if first else []
                if len(x.shape) > first + 1:
                    with loops.grid(*x.shape[first:-1]) as among:
                        row([*place, *among])
                else:
                    row(place)
                out[tuple(at)] = lowest
                with T.serial(0, _LANES) as lane:
                    out[tuple(at)] = choose(out[tuple(at)], lanes[lane])
            return ib.get()

    # Buffers without an offset, which 0.25 does not bind.
    read = [tirx.decl_buffer(x.shape, dtype, "data")]
    written = [
        tirx.decl_buffer(shape, dtype, name)
        for shape, name in ((outer, "extrema"), ([tirx.const(_LANES, "int64")], "lanes"))
    ]
    made, _ = te.extern(
        [buffer.shape for buffer in written],
        [x],
        build,
        name="extrema",
        dtype=[dtype] * 2,
        in_buffers=read,
        out_buffers=written,
    )
    kept = [tirx.const(1, "int64")] * (len(x.shape) - first if keep else 0)
    return te.compute(
        (*x.shape[:first], *kept), lambda *at: made(*(at[:first] or (0,))), name="extremum"
    )


def _place(largest: bool) -> Override:
    """relax.argmax or relax.argmin: the legalization below, applied to integer keys."""

    def compute(x: Any) -> Any:
        zero = tirx.const(0, x.dtype)

        def element(*at: Any) -> Any:
            unsigned = tirx.Select(x(*at) == zero, zero, x(*at))
            return extremum.key(unsigned, largest)

        return te.compute(x.shape, element, name="key")

    def legalize(below: Any, builder: Any, call: Any) -> Any:
        if _compat.dtype_of(call.args[0]) not in extremum.FLOATS:
            return below(builder, call)
        keys = builder.emit(builder.call_te(compute, call.args[0], primfunc_name_hint="key"))
        search = relax.op.argmax if largest else relax.op.argmin
        axis = None if call.attrs.axis is None else int(call.attrs.axis)
        return below(builder, builder.normalize(search(keys, axis, bool(call.attrs.keepdims))))

    return legalize


def _still_wrong() -> bool:
    reductions = (relax.op.max, relax.op.min)
    return not all(extremum.keeps_nan(partial(reduce, axis=[2]), (1, 1)) for reduce in reductions)


FIX = Fix(
    id="nan_reductions",
    what="max, min, argmax and argmin along axes drop NaN",
    op="relax.max, relax.min, relax.argmax, relax.argmin",
    affected="",
    install=overriding(
        {
            "relax.max": _reduction(largest=True),
            "relax.min": _reduction(largest=False),
            "relax.argmax": _place(largest=True),
            "relax.argmin": _place(largest=False),
        }
    ),
    probe=_still_wrong,
    needs_torch=False,
)
