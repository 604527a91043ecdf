"""Places of extrema of floats by one comparison after the other, where vectors do not pay.

Unlike the loops of `in_vectors`, this is a reduction of TVM's own, which LLVM unrolls and fuses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import te, tirx, topi
from tvm_kokoro_ext._fixes._shared import loops


def place(x: Any, axes: Sequence[int], largest: bool, keep: bool) -> Any:
    """The int64 place of the extremum of a TE tensor of floats over `axes`, as torch has it.

    It is that of the first NaN, or else of the first of equal numbers: the candidate is the later
    one of two places. The first NaN is kept apart, so that no comparison waits for it.
    """
    kind = str(x.dtype) if x.dtype in ("float32", "float64") else "float32"
    sizes = [x.shape[axis] for axis in axes]
    count = _compat.as_int(_emit.extent(sizes))
    index = "int32" if kind == "float32" and count is not None and count < 2**31 else "int64"
    least, none = tirx.const(-math.inf if largest else math.inf, kind), tirx.max_value(index)

    def joined(found: Any, candidate: Any) -> tuple[Any, Any, Any]:
        (at, most, without), (place, number, nan) = found, candidate
        taken = number > most if largest else number < most  # false for NaN
        first_nan = tirx.Select(nan < without, nan, without)
        return tirx.Select(taken, place, at), tirx.Select(taken, number, most), first_nan

    def first(*_: str) -> tuple[Any, Any, Any]:
        return tirx.const(0, index), least, none

    search = te.comm_reducer(joined, first, name="argmax" if largest else "argmin")
    inner = {axis: te.reduce_axis((0, x.shape[axis]), name=f"k{axis}") for axis in axes}
    number = tirx.Cast(index, loops.flat(list(inner.values()), sizes))

    def found(*at: Any) -> Any:
        value = tirx.Cast(kind, x(*[inner.get(axis, i) for axis, i in enumerate(at)]))
        nan = tirx.Select(tirx.isnan(value), number, none)
        return search((number, value, nan), axis=list(inner.values()))

    kept = [1 if axis in inner else size for axis, size in enumerate(x.shape)]
    places, _, nans = te.compute(tuple(kept), found, name="found")

    def chosen(*at: Any) -> Any:
        return tirx.Cast("int64", tirx.Select(nans(*at) < none, nans(*at), places(*at)))

    result = te.compute(tuple(kept), chosen, name="place")
    return result if keep else topi.squeeze(result, list(axes))
