"""x * 0, 0 / x, x / 0, x + 0 and x - -0 of floats, and leaky_relu of slope 0.

TVM's simplifier replaces the first two by 0 for any x, and the next two by x, of which -0 is to
become 0. So leaky_relu with a slope of 0 drops NaN.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _probe
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import extremum
from tvm_kokoro_ext._fixes._shared import zero as zeros
from tvm_kokoro_ext._fixes._shared.legalization import Override, overriding

_WIDE = ("float32", "float64")


def _zero(value: Any) -> float | None:
    """0.0 or -0.0 if the operand is such a 0-d constant, which becomes a part of the kernel."""
    number = _compat.constant_value(value)
    return float(number) if number is not None and number.ndim == 0 and number == 0 else None


def _times_zero(zero: float) -> Callable[[Any], Any]:
    return lambda x: zeros.product(zero, x, _compat.prim_dtype(x))


def _zero_over(zero: float) -> Callable[[Any], Any]:
    return lambda x: zeros.hidden(zero, _compat.prim_dtype(x)) / x


def _over_zero(zero: float) -> Callable[[Any], Any]:
    return lambda x: x * tirx.const(math.copysign(math.inf, zero), _compat.prim_dtype(x))


def _plus_zero(x: Any) -> Any:
    return x + zeros.hidden(0.0, _compat.prim_dtype(x))


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


def add(below: Any, builder: Any, call: Any) -> Any:
    """relax.add"""
    if _of_floats(call):
        for x, term in (call.args, reversed(call.args)):
            if _is_positive(_zero(term)):
                return _elementwise(_plus_zero, x, builder, "add")
    return below(builder, call)


def subtract(below: Any, builder: Any, call: Any) -> Any:
    """relax.subtract"""
    if _of_floats(call):
        x, term = call.args
        zero = _zero(term)
        if zero is not None and not _is_positive(zero):
            return _elementwise(_plus_zero, x, builder, "subtract")
    return below(builder, call)


def leaky_relu(below: Any, builder: Any, call: Any) -> Any:
    """relax.nn.leakyrelu"""
    slope = float(call.attrs.alpha)
    if slope != 0 or not _of_floats(call):
        return below(builder, call)

    def element(x: Any) -> Any:
        dtype = _compat.prim_dtype(x)
        return tirx.Select(x > tirx.const(0, dtype), x, zeros.product(slope, x, dtype))

    return _elementwise(element, call.args[0], builder, "leaky_relu")


def _is_positive(zero: float | None) -> bool:
    return zero is not None and math.copysign(1.0, zero) > 0


def _loses_nan(operator: Any) -> bool:
    """Whether the kernel of x * 0 or 0 / x writes zeros without reading x."""
    return "x0[" not in _kernel(lambda x: operator(relax.const(0.0, "float32"), x))


def _keeps_sign(operator: Any, zero: float) -> bool:
    """Whether the kernel of x + 0 or x - -0 copies x, of which -0 is to become 0."""
    kernel = _kernel(lambda x: operator(x, relax.const(zero, "float32")))
    return re.search(r"= x0\[[^]]*\]$", kernel, re.MULTILINE) is not None


def _drops_slope() -> bool:
    """Whether the kernel of leaky_relu with a slope of 0 writes a zero where x is not positive."""
    kernel = _kernel(lambda x: relax.op.nn.leakyrelu(x, 0.0))
    return re.search(r", T\.float32\(0(\.0)?\)\)$", kernel, re.MULTILINE) is not None


def _kernel(function: Callable[[Any], Any]) -> str:
    """The text of the kernel of a function of a tensor x0."""
    module = _probe.legalized(function, _probe.Input((4,)))
    (kernel,) = (f for name, f in module.functions_items() if name.name_hint != "main")
    return str(kernel.script())


@_probe.wrong
def _still_wrong() -> bool:
    return (
        _loses_nan(relax.op.multiply)
        or _loses_nan(relax.op.divide)
        or _keeps_sign(relax.op.add, 0.0)
        or _keeps_sign(relax.op.subtract, -0.0)
        or _drops_slope()
    )


_OVERRIDES: dict[str, Override] = {
    "relax.multiply": multiply,
    "relax.divide": divide,
    "relax.add": add,
    "relax.subtract": subtract,
    "relax.nn.leakyrelu": leaky_relu,
}

FIX = Fix(
    id="zero_factor",
    what="x * 0, 0 / x, leaky_relu(x, 0) are 0 for NaN, inf; x / 0 does not build; x + 0 is -0",
    op="relax.multiply, relax.divide, relax.add, relax.subtract, relax.nn.leakyrelu",
    affected="",
    install=overriding(_OVERRIDES),
    probe=_still_wrong,
    needs_torch=False,
)
