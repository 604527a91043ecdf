"""max, min, argmax and argmin propagate NaN and find the first NaN, as in torch."""

from __future__ import annotations

from functools import partial
from typing import Any

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import extremum, in_vectors, sums
from tvm_kokoro_ext._fixes._shared.legalization import Override, overriding
from tvm_kokoro_ext._fixes.nan import _in_order

_MANY_PLACES = 128


def _reduction(largest: bool) -> Override:
    """relax.max or relax.min: TVM's reducer applied to integer keys, converted back.

    On a CPU, adjacent axes are reduced as floats in vectors.
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
        if _suits_vectors(call.args[0], axes):

            def of_floats(x: Any) -> Any:
                rule = in_vectors.Extremum(largest, dtype)
                return in_vectors.reduced(x, axes, rule, keep)

            return builder.call_te(of_floats, call.args[0], primfunc_name_hint=hint)

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


def _suits_vectors(x: Any, axes: list[int]) -> bool:
    """Whether floats are compared as they are, in the vectors of a CPU, along adjacent axes."""
    if _compat.dtype_of(x) not in ("float32", "float64") or not sums.is_for_cpu():
        return False
    size = _compat.as_int(_compat.shape_of(x)[-1])
    is_long = size is None or size >= in_vectors.LANES
    return is_long and axes == list(range(axes[0], axes[-1] + 1))


def _are_few(x: Any, axes: list[int]) -> bool:
    """Whether places along the last axis are too few, as far as that is known, for vectors."""
    size = _compat.as_int(_compat.shape_of(x)[-1])
    return axes == [_compat.rank_of(x) - 1] and (size is None or size < _MANY_PLACES)


def _place(largest: bool) -> Override:
    """relax.argmax or relax.argmin of floats.

    On a CPU, floats are compared in vectors, or few of them one after the other. Elsewhere the
    legalization below is applied to integer keys.
    """

    def compute(x: Any) -> Any:
        zero = tirx.const(0, x.dtype)

        def element(*at: Any) -> Any:
            unsigned = tirx.Select(x(*at) == zero, zero, x(*at))
            return extremum.key(unsigned, largest)

        return te.compute(x.shape, element, name="key")

    def legalize(below: Any, builder: Any, call: Any) -> Any:
        x = call.args[0]
        dtype, rank = _compat.dtype_of(x), _compat.rank_of(x)
        if dtype not in extremum.FLOATS:
            return below(builder, call)
        axis = None if call.attrs.axis is None else int(call.attrs.axis)
        axes = list(range(rank)) if axis is None else [_emit.normalize_axis(axis, rank)]
        keep = bool(call.attrs.keepdims)
        if axes and sums.is_for_cpu():
            in_a_vector = _suits_vectors(x, axes) and not _are_few(x, axes)

            def of_floats(data: Any) -> Any:
                if not in_a_vector:
                    return _in_order.place(data, axes, largest, keep)
                size = _emit.extent([data.shape[a] for a in axes])
                rule = in_vectors.Place(largest, dtype, size)
                return in_vectors.reduced(data, axes, rule, keep)

            hint = "argmax" if largest else "argmin"
            return builder.call_te(of_floats, x, primfunc_name_hint=hint)
        keys = builder.emit(builder.call_te(compute, call.args[0], primfunc_name_hint="key"))
        search = relax.op.argmax if largest else relax.op.argmin
        return below(builder, builder.normalize(search(keys, axis, keep)))

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
