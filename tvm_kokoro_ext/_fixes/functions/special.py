"""lgamma (the C library's), digamma and erfinv, computed in float64 for all dtypes.

So are the functions of `bessel.py`, which belong to the same fix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import te, tirx
from tvm_kokoro_ext._fix import Converter, Fix
from tvm_kokoro_ext._fixes.functions import bessel

# B_2k / 2k of digamma's asymptotic series.
_BERNOULLI = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
_LARGEST_FACTORIAL = 170  # of a float64
_SHIFT = 10  # from here on, that series is accurate to float64

# Rational approximations of erfinv, lowest power first, which are refined by three Newton steps.
_CENTRE = (0.886226899, -1.645349621, 0.914624893, -0.140543331)
_CENTRE_BELOW = (1.0, -2.118377725, 1.442710462, -0.329097515, 0.012229801)
_TAIL = (-1.970840454, -1.624906493, 3.429567803, 1.641345311)
_TAIL_BELOW = (1.0, 3.543889200, 1.637067800)


def _f(value: float) -> Any:
    return tirx.const(value, "float64")


def _polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    result = _f(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = result * x + _f(coefficient)
    return result


def _lgamma(x: Any) -> Any:
    return tirx.call_pure_extern("float64", "lgamma", x)


def _digamma(x: Any) -> Any:
    reflected = x <= _f(0)
    y = tirx.Select(reflected, _f(1) - x, x)
    w = y + _f(_SHIFT)
    value = tirx.log(w) - _f(0.5) / w
    square = _f(1) / (w * w)
    value = value - square * _polynomial(square, _BERNOULLI)
    for step in range(_SHIFT):
        value = value - _f(1) / (y + _f(step))
    rest = x - tirx.round(x)
    cotangent = tirx.cos(_f(math.pi) * rest) / tirx.sin(_f(math.pi) * rest)
    nan, infinite = _f(math.nan), tirx.copysign(tirx.infinity("float64"), -x)
    pole = tirx.Select(x == _f(0), infinite, nan)
    other = tirx.Select(rest == _f(0), pole, value - _f(math.pi) * cotangent)
    value = tirx.Select(tirx.isinf(x), x, value)
    return tirx.Select(reflected, other, value)


def _guess(y: Any) -> Any:
    square = y * y
    centre = y * _polynomial(square, _CENTRE) / _polynomial(square, _CENTRE_BELOW)
    z = tirx.sqrt(-tirx.log((_f(1) - tirx.abs(y)) / _f(2)))
    tail = _polynomial(z, _TAIL) / _polynomial(z, _TAIL_BELOW)
    return tirx.Select(tirx.abs(y) <= _f(0.7), centre, tirx.copysign(tail, y))


def _newton(x: Any, y: Any) -> Any:
    """One step towards erf(x) = y; near ±1 by erfc, where erf(x) - y would lose its digits."""
    slope = _f(2 / math.sqrt(math.pi)) * tirx.exp(-x * x)
    size = tirx.abs(y)
    complement = tirx.call_pure_extern("float64", "erfc", tirx.abs(x))
    tail = tirx.copysign(_f(1), y) * ((_f(1) - size) - complement)
    return x - tirx.Select(size > _f(0.5), tail, tirx.erf(x) - y) / slope


def _erfinv(data: Any) -> Any:
    """Computed in separate stages, since each step uses the previous one several times."""

    def wide(*at: Any) -> Any:
        return tirx.Cast("float64", data(*at))

    def step_from(x: Any) -> Callable[..., Any]:
        return lambda *at: _newton(x(*at), wide(*at))

    x = te.compute(data.shape, lambda *at: _guess(wide(*at)), name="guess")
    for _ in range(3):
        x = te.compute(data.shape, step_from(x), name="newton")

    def limits(*at: Any) -> Any:
        y = wide(*at)
        end = tirx.copysign(tirx.infinity("float64"), y)
        inside = tirx.Select(tirx.abs(y) < _f(1), x(*at), _f(math.nan))
        return tirx.Cast(data.dtype, tirx.Select(tirx.abs(y) == _f(1), end, inside))

    return te.compute(data.shape, limits, name="erfinv")


def _each(function: Callable[[Any], Any], hint: str) -> Callable[[Any], Any]:
    def compute(data: Any) -> Any:
        def element(*at: Any) -> Any:
            return tirx.Cast(data.dtype, function(tirx.Cast("float64", data(*at))))

        return te.compute(data.shape, element, name=hint)

    return compute


def _converter(compute: Callable[[Any], Any], hint: str) -> Converter:
    def convert(importer: Any, node: Any, previous: Any) -> Any:
        x = importer.retrieve_args(node)[0]
        x = _emit.astype(importer, x, _emit.result_dtype(importer, node) or _compat.dtype_of(x))
        return _emit.emit_te(importer, compute, x, hint=hint)

    return convert


def polygamma(importer: Any, node: Any, previous: Any) -> Any:
    """Derivatives of digamma: of higher orders n the zeta function of n + 1 times ±n!."""
    order, x = importer.retrieve_args(node)[:2]
    if order < 2:
        function, hint = (bessel.trigamma, "trigamma") if order else (_digamma, "digamma")
        return bessel.of_tensor(importer, node, function, x, hint)
    if order > _LARGEST_FACTORIAL:
        raise _emit.refuse(node, f"the factorial of {order} is infinite", "Use orders up to 170")
    factor = math.factorial(order) * (1.0 if order % 2 else -1.0)
    wide = _emit.astype(importer, x, "float64")
    exponent = _emit.scalar(importer, order + 1, "float64")
    return bessel.zeta_of(importer, node, exponent, wide, factor)


_CONVERTERS: dict[str, Converter] = {
    "lgamma.default": _converter(_each(_lgamma, "lgamma"), "lgamma"),
    "digamma.default": _converter(_each(_digamma, "digamma"), "digamma"),
    "erfinv.default": _converter(_erfinv, "erfinv"),
    "polygamma.default": polygamma,
    **bessel.CONVERTERS,
}

FIX = Fix(
    id="special",
    what="lgamma, digamma, erfinv, polygamma, zeta and Bessel functions are missing",
    op="aten.lgamma, aten.digamma, aten.erfinv, aten.i0, aten.special_zeta, …",
    affected="",
    converters=_CONVERTERS,
    probe=_probe.lacks(*_CONVERTERS),
)
