"""maximum, minimum, clip and relu propagate NaN; stock's comparison drops a NaN on the left."""

from __future__ import annotations

import math
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import bfloat16, extremum, indexing, steps
from tvm_kokoro_ext._fixes._shared.legalization import Override, overriding


def _is_float(call: Any) -> bool:
    return _compat.dtype_of(call.args[0]) in extremum.FLOATS


def _binary(choose: Any, hint: str) -> Override:
    """relax.maximum or relax.minimum of broadcasting tensors."""

    def compute(lhs: Any, rhs: Any) -> Any:
        shape = indexing.broadcast_shapes([list(lhs.shape), list(rhs.shape)])

        def element(*at: Any) -> Any:
            return choose(indexing.read(lhs, list(at)), indexing.read(rhs, list(at)))

        return te.compute(tuple(shape), element, name=hint)

    def legalize(below: Any, builder: Any, call: Any) -> Any:
        if not all(map(_compat.is_tensor, call.args)) or not _is_float(call):
            return below(builder, call)
        return builder.call_te(compute, *call.args, primfunc_name_hint=hint)

    return legalize


def clip(below: Any, builder: Any, call: Any) -> Any:
    """relax.clip, where NaN is neither below nor above a bound."""
    if not _is_float(call):
        return below(builder, call)

    def compute(x: Any, lower: Any, upper: Any) -> Any:
        constant = all(isinstance(bound, tirx.FloatImm | tirx.IntImm) for bound in (lower, upper))
        if constant and x.dtype == "bfloat16":
            bounds = float(lower.value), float(upper.value)
            return te.compute(x.shape, lambda *at: bfloat16.clipped(x(*at), *bounds), name="clip")
        lower, upper = (tirx.Cast(x.dtype, bound) for bound in (lower, upper))

        def element(*at: Any) -> Any:
            names = steps.Steps()  # LLVM makes no minimum of an expression that stands twice
            value = names.name(x(*at))
            raised = names.name(extremum.chosen(extremum.less(value, lower), lower, value))
            return names.within(extremum.chosen(extremum.less(upper, raised), upper, raised))

        return te.compute(x.shape, element, name="clip")

    return builder.call_te(compute, *call.args, primfunc_name_hint="tir_clip")


def relu(below: Any, builder: Any, call: Any) -> Any:
    """relax.nn.relu"""
    if not _is_float(call):
        return below(builder, call)

    def compute(x: Any) -> Any:
        zero = tirx.const(0, x.dtype)

        def element(*at: Any) -> Any:
            return extremum.chosen(extremum.less(x(*at), zero), zero, x(*at))

        return te.compute(x.shape, element, name="relu")

    return builder.call_te(compute, *call.args, primfunc_name_hint="relu")


def _still_wrong() -> bool:
    dropped = (
        relax.op.nn.relu,
        lambda x: relax.op.clip(x, -math.inf, 1.0),
        lambda x: relax.op.maximum(x, relax.const(0.0, "float32")),
    )
    return not all(extremum.keeps_nan(function, (1, 1, 4)) for function in dropped)


FIX = Fix(
    id="nan_elementwise",
    what="maximum, minimum, clamp, relu, hardtanh, … drop NaN",
    op="relax.maximum, relax.minimum, relax.clip, relax.nn.relu",
    affected="",
    install=overriding(
        {
            "relax.maximum": _binary(extremum.maximum, "maximum"),
            "relax.minimum": _binary(extremum.minimum, "minimum"),
            "relax.clip": clip,
            "relax.nn.relu": relu,
        }
    ),
    probe=_still_wrong,
    needs_torch=False,
)
