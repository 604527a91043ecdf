"""x * 0, 0 / x and x / 0 of floats; TVM's simplifier takes the first two for 0 whatever x is."""

from __future__ import annotations

import math
from typing import Any

from tvm_kokoro_ext import _compat, _probe
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes import _extremum
from tvm_kokoro_ext._fixes._legalization import Override, overriding

_WIDE = ("float32", "float64")


def _is_zero(value: Any) -> bool:
    """Whether the operand is a constant 0 without dimensions, which becomes part of the kernel."""
    number = _compat.constant_value(value)
    return number is not None and number.ndim == 0 and number == 0


def _elementwise(element: Any, x: Any, builder: Any, hint: str) -> Any:
    dtype = _compat.dtype_of(x)

    def compute(data: Any) -> Any:
        def converted(*at: Any) -> Any:
            wide = data(*at) if dtype in _WIDE else tirx.Cast("float32", data(*at))
            return tirx.Cast(dtype, element(wide))

        return te.compute(data.shape, converted, name=hint)

    return builder.call_te(compute, x, primfunc_name_hint=hint)


def _times_zero(x: Any) -> Any:
    """x · 0 but for the sign of zero."""
    return tirx.Select(tirx.any(tirx.isnan(x), _equals(tirx.abs(x), math.inf)), *_nan_or_zero(x))


def _zero_over(x: Any) -> Any:
    """0 / x but for the sign of zero."""
    return tirx.Select(tirx.any(tirx.isnan(x), _equals(x, 0.0)), *_nan_or_zero(x))


def _over_zero(sign: float) -> Any:
    return lambda x: x * tirx.const(math.copysign(math.inf, sign), _compat.prim_dtype(x))


def _equals(x: Any, number: float) -> Any:
    return tirx.EQ(x, tirx.const(number, _compat.prim_dtype(x)))


def _nan_or_zero(x: Any) -> tuple[Any, Any]:
    dtype = _compat.prim_dtype(x)
    return tirx.const(math.nan, dtype), tirx.const(0.0, dtype)


def _of_floats(call: Any) -> bool:
    return all(_compat.is_tensor(arg) for arg in call.args) and (
        _compat.dtype_of(call.args[0]) in _extremum.FLOATS
    )


def multiply(below: Any, builder: Any, call: Any) -> Any:
    """relax.multiply"""
    if _of_floats(call):
        for x, factor in (call.args, reversed(call.args)):
            if _is_zero(factor):
                return _elementwise(_times_zero, x, builder, "multiply")
    return below(builder, call)


def divide(below: Any, builder: Any, call: Any) -> Any:
    """relax.divide"""
    if _of_floats(call):
        x, divisor = call.args
        if _is_zero(divisor):
            sign = float(_compat.constant_value(divisor))
            return _elementwise(_over_zero(sign), x, builder, "divide")
        if _is_zero(x):
            return _elementwise(_zero_over, divisor, builder, "divide")
    return below(builder, call)


def _loses_nan(operator: Any) -> bool:
    """Does the kernel of x * 0 or 0 / x write zeros without reading x?"""

    def function(x: Any) -> Any:
        return operator(relax.const(0.0, "float32"), x)

    module = _probe.legalized(function, _probe.Input((4,)))
    (kernel,) = (f for name, f in module.functions_items() if name.name_hint != "main")
    return "x[" not in kernel.script()


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
