"""x * 0, 0 / x and x / 0 of floats; TVM's simplifier replaces the first two by 0 for any x."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _probe
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import extremum
from tvm_kokoro_ext._fixes._shared.legalization import Override, overriding

_WIDE = ("float32", "float64")


def _zero(value: Any) -> float | None:
    """0.0 or -0.0 if the operand is such a 0-d constant, which becomes a part of the kernel."""
    number = _compat.constant_value(value)
    return float(number) if number is not None and number.ndim == 0 and number == 0 else None


def _times_zero(zero: float) -> Callable[[Any], Any]:
    return lambda x: _signed_zero(x, zero, tirx.any(tirx.isnan(x), _equals(tirx.abs(x), math.inf)))


def _zero_over(zero: float) -> Callable[[Any], Any]:
    return lambda x: _signed_zero(x, zero, tirx.any(tirx.isnan(x), _equals(x, 0.0)))


def _over_zero(zero: float) -> Callable[[Any], Any]:
    return lambda x: x * _number(math.copysign(math.inf, zero), x)


def _signed_zero(x: Any, zero: float, undefined: Any) -> Any:
    """NaN where undefined, and a zero with the sign of x · zero elsewhere."""
    nothing, one = _number(0.0, x), _number(1.0, x)
    negative = tirx.any(x < nothing, one / x < nothing)  # the second detects -0.0
    sign = math.copysign(1.0, zero)
    # Use a quotient, because the simplifier treats 0.0 and -0.0 as equal.
    signed = tirx.Select(negative, _number(-sign, x), _number(sign, x)) / _number(math.inf, x)
    return tirx.Select(undefined, _number(math.nan, x), signed)


def _equals(x: Any, number: float) -> Any:
    return tirx.EQ(x, _number(number, x))


def _number(value: float, like: Any) -> Any:
    return tirx.const(value, _compat.prim_dtype(like))


def _elementwise(element: Any, x: Any, builder: Any, hint: str) -> Any:
    dtype = _compat.dtype_of(x)

    def compute(data: Any) -> Any:
        def converted(*at: Any) -> Any:
            wide = data(*at) if dtype in _WIDE else tirx.Cast("float32", data(*at))
            return tirx.Cast(dtype, element(wide))

        return te.compute(data.shape, converted, name=hint)

    return builder.call_te(compute, x, primfunc_name_hint=hint)


def _of_floats(call: Any) -> bool:
    return all(_compat.is_tensor(arg) for arg in call.args) and (
        _compat.dtype_of(call.args[0]) in extremum.FLOATS
    )


def multiply(below: Any, builder: Any, call: Any) -> Any:
    """relax.multiply"""
    if _of_floats(call):
        for x, factor in (call.args, reversed(call.args)):
            zero = _zero(factor)
            if zero is not None:
                return _elementwise(_times_zero(zero), x, builder, "multiply")
    return below(builder, call)


def divide(below: Any, builder: Any, call: Any) -> Any:
    """relax.divide"""
    if _of_floats(call):
        x, divisor = call.args
        zero = _zero(divisor)
        if zero is not None:
            return _elementwise(_over_zero(zero), x, builder, "divide")
        zero = _zero(x)
        if zero is not None:
            return _elementwise(_zero_over(zero), divisor, builder, "divide")
    return below(builder, call)


def _loses_nan(operator: Any) -> bool:
    """Whether the kernel of x * 0 or 0 / x writes zeros without reading x."""

    def function(x: Any) -> Any:
        return operator(relax.const(0.0, "float32"), x)

    module = _probe.legalized(function, _probe.Input((4,)))
    (kernel,) = (f for name, f in module.functions_items() if name.name_hint != "main")
    return "x0[" not in kernel.script()


@_probe.wrong
def _still_wrong() -> bool:
    return _loses_nan(relax.op.multiply) or _loses_nan(relax.op.divide)


_OVERRIDES: dict[str, Override] = {"relax.multiply": multiply, "relax.divide": divide}

FIX = Fix(
    id="zero_factor",
    what="x * 0 and 0 / x are 0 where x is NaN or infinite; x / 0 does not build",
    op="relax.multiply, relax.divide",
    affected="",
    install=overriding(_OVERRIDES),
    probe=_still_wrong,
    needs_torch=False,
)
