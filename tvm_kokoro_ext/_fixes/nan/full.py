"""full(…, -inf) and full(…, nan), which 0.26 and 0.27 import but fail to build."""

from __future__ import annotations

import math
from typing import Any

from tvm_kokoro_ext import _compat, _probe
from tvm_kokoro_ext._compat import relax, topi
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared.legalization import overriding


def full(below: Any, builder: Any, call: Any) -> Any:
    value = _compat.constant_value(call.args[1])
    shape = _compat.type_of(call).shape
    if value is None or math.isfinite(value) or not isinstance(shape, relax.ShapeExpr):
        return below(builder, call)
    dtype = str(_compat.type_of(call).dtype)
    return builder.call_te(topi.full, shape.values, dtype, float(value), primfunc_name_hint="full")


@_probe.wrong
def _still_wrong() -> bool:
    _probe.legalized(lambda x: relax.op.full_like(x, relax.const(-math.inf)), _probe.Input((4,)))
    return False


FIX = Fix(
    id="full",
    what="full with an infinite value or NaN does not build",
    op="relax.full, relax.full_like",
    affected=">=0.26",
    install=overriding({"relax.full": full, "relax.full_like": full}),
    probe=_still_wrong,
    needs_torch=False,
)
