"""Comparisons with NaN, which differs from everything including itself.

TVM emits an ordered `!=` for LLVM, which is false for NaN, and simplifies `x == x` to true.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import extremum, indexing
from tvm_kokoro_ext._fixes._shared.legalization import overriding


def _is_float(call: Any) -> bool:
    return all(_compat.is_tensor(argument) for argument in call.args) and any(
        _compat.dtype_of(argument) in extremum.FLOATS for argument in call.args
    )


def not_equal(below: Any, builder: Any, call: Any) -> Any:
    """relax.not_equal of broadcasting floats."""
    if not _is_float(call):
        return below(builder, call)

    def compute(lhs: Any, rhs: Any) -> Any:
        shape = indexing.broadcast_shapes([list(lhs.shape), list(rhs.shape)])

        def element(*at: Any) -> Any:
            a, b = (indexing.read(tensor, list(at)) for tensor in (lhs, rhs))
            return tirx.any(extremum.is_nan(a), extremum.is_nan(b), a != b)

        return te.compute(tuple(shape), element, name="not_equal")

    return builder.call_te(compute, *call.args, primfunc_name_hint="not_equal")


def equal_to_itself(below: Any, builder: Any, call: Any) -> Any:
    """relax.equal, less_equal and greater_equal of a tensor with itself."""
    if not _is_float(call) or not call.args[0].same_as(call.args[1]):
        return below(builder, call)

    def compute(x: Any) -> Any:
        return te.compute(
            x.shape, lambda *at: tirx.Not(extremum.is_nan(x(*at))), name="is_number", tag="elemwise"
        )

    return builder.call_te(compute, call.args[0], primfunc_name_hint="is_number")


def _still_wrong() -> bool:
    def first(compare: Callable[[Any], Any]) -> bool:
        return bool(extremum.run_on_nan(compare, (1, 1, 4), "bool")[0, 0, 0])

    differs = first(lambda x: relax.op.not_equal(x, relax.const(0.0, "float32")))
    return not differs or first(lambda x: relax.op.equal(x, x))


FIX = Fix(
    id="nan_comparison",
    what="NaN != 0 is false, and NaN == NaN of one tensor is true",
    op="relax.not_equal, relax.equal, relax.less_equal, relax.greater_equal",
    affected="",
    install=overriding(
        {
            "relax.not_equal": not_equal,
            "relax.equal": equal_to_itself,
            "relax.less_equal": equal_to_itself,
            "relax.greater_equal": equal_to_itself,
        }
    ),
    probe=_still_wrong,
    needs_torch=False,
)
