"""Quotients and remainders of signed integers whose divisor is -1.

The smallest integer divided by -1 overflows. PyTorch and numpy wrap the quotient, which is the
smallest integer again, and the remainder is 0. The instruction of x86 traps instead, both for the
quotient and for the remainder, and the process ends with SIGFPE.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _probe
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import indexing
from tvm_kokoro_ext._fixes._shared.legalization import Override, overriding


def _never_by_minus_one(function: Callable[[Any, Any], Any], by_minus_one: int) -> Override:
    """Compute `function(a, b)` of integers, and `a * by_minus_one` where b is -1."""

    def legalize(below: Any, builder: Any, call: Any) -> Any:
        if not _can_overflow(*call.args):
            return below(builder, call)
        shape = indexing.broadcast_shapes([_compat.shape_of(arg) for arg in call.args])
        dtype = _compat.dtype_of(call.args[0])
        one, minus_one, factor = (tirx.const(n, dtype) for n in (1, -1, by_minus_one))

        def compute(lhs: Any, rhs: Any) -> Any:
            def element(*at: Any) -> Any:
                a, b = (indexing.read(operand, list(at)) for operand in (lhs, rhs))
                is_minus_one = tirx.EQ(b, minus_one)
                result = function(a, tirx.Select(is_minus_one, one, b))
                return tirx.Select(is_minus_one, a * factor, result)

            return te.compute(tuple(shape), element, name=function.__name__)

        return builder.call_te(compute, *call.args, primfunc_name_hint=function.__name__)

    return legalize


def _can_overflow(lhs: Any, rhs: Any) -> bool:
    """Whether both are tensors of signed integers, and the divisor may be -1."""
    if not all(_compat.is_tensor(operand) for operand in (lhs, rhs)):
        return False
    divisor = _compat.constant_value(rhs)
    return _compat.dtype_of(lhs).startswith("int") and (
        divisor is None or bool((divisor == -1).any())
    )


_OVERRIDES: dict[str, Override] = {
    "relax.divide": _never_by_minus_one(tirx.truncdiv, -1),
    "relax.floor_divide": _never_by_minus_one(tirx.floordiv, -1),
    "relax.mod": _never_by_minus_one(tirx.truncmod, 0),
    "relax.floor_mod": _never_by_minus_one(tirx.floormod, 0),
}


@_probe.wrong
def _divides_by_minus_one() -> bool:
    """Whether the kernel of a quotient compares its divisor with nothing."""
    x = _probe.Input((4,), "int64")
    module = _probe.legalized(relax.op.floor_divide, x, x)
    (kernel,) = (f for name, f in module.functions_items() if name.name_hint != "main")
    return "-1" not in kernel.script()


FIX = Fix(
    id="integer_overflow",
    what="the smallest integer divided by -1, in //, %, fmod and div, ends the process",
    op="relax.divide, relax.floor_divide, relax.mod, relax.floor_mod",
    affected="",
    install=overriding(_OVERRIDES),
    probe=_divides_by_minus_one,
    needs_torch=False,
)
