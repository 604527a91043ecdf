"""argmax of integers that are all the least of their dtype, and argmin of the greatest."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import extremum
from tvm_kokoro_ext._fixes._shared.legalization import overriding


def _first_at_worst(below: Any, builder: Any, call: Any) -> Any:
    """The kernel below, whose -1 becomes 0.

    TVM's reducer begins with the place -1 and the limit of the dtype. Of places with equal
    numbers it takes the first, which is the -1 if all numbers are that limit; there it is 0.
    """
    if _compat.dtype_of(call.args[0]) in extremum.FLOATS:
        return below(builder, call)

    def compute(places: Any) -> Any:
        zero = tirx.const(0, places.dtype)
        return te.compute(places.shape, lambda *at: tirx.max(places(*at), zero), name="place")

    places = builder.emit(below(builder, call))
    return builder.call_te(compute, places, primfunc_name_hint="place")


def _still_wrong() -> bool:
    least = np.full(2, -128, "int8")
    return bool(extremum.run_kernel(partial(relax.op.argmax, axis=0), least, (), "int64") < 0)


FIX = Fix(
    id="least_place",
    what="argmax of integers that are all the least of their dtype is -1, and argmin likewise",
    op="relax.argmax, relax.argmin, aten.argmax, aten.argmin, aten.max, aten.min",
    affected="",
    install=overriding({"relax.argmax": _first_at_worst, "relax.argmin": _first_at_worst}),
    probe=_still_wrong,
    needs_torch=False,
)
