"""Elementary functions as polynomials that vectorize, in place of one library call an element.

The legalizations here are given to `LegalizeOps` by its scoped hook; nothing global changes. They
are scalar expressions, so that they fuse with their neighbours and the loop's own vectorization
widens them; the mathematics and its error bounds are those of `kernels.math`. Other types than
float32 keep TVM's own legalization.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from tvm import relax, te, tirx, topi

from ..kernels.math import (
    EXP_POLYNOMIAL,
    LN2_PARTS,
    LOG2_E,
    PI_PARTS,
    SIN_POLYNOMIAL,
)

Expr = Any
Function = Callable[[Expr], Expr]


def _f32(value: float) -> Expr:
    return tirx.const(value, "float32")


def _let(value: Expr, body: Function, dtype: str = "float32") -> Expr:
    """`body` over a name for `value`, so that the value is computed once."""
    variable = tirx.Var("v", dtype)
    return tirx.Let(variable, value, body(variable))


def _horner(x: Expr, coefficients: tuple[float, ...]) -> Expr:
    value: Expr = _f32(coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + _f32(coefficient)
    return value


def _reduced(x: Expr, inverse: float, parts: tuple[float, ...], body: Callable[..., Expr]) -> Expr:
    """`body(n, r)`: n the integer nearest to x * inverse, r = x - n * sum(parts), part by part."""

    def with_n(n: Expr) -> Expr:
        r = x
        for part in parts:
            r = r - n * _f32(part)
        return _let(r, lambda remainder: body(n, remainder))

    return _let(tirx.nearbyint(x * _f32(inverse)), with_n)


def sin_expression(x: Expr) -> Expr:
    """sin x for |x| <= 1e4, absolute error 1.5e-7 (see `kernels.math.sin`)."""

    def body(n: Expr, r: Expr) -> Expr:
        def signed(z: Expr) -> Expr:
            sine = r + r * z * _horner(z, SIN_POLYNOMIAL)
            odd = tirx.bitwise_and(tirx.Cast("int32", n), tirx.const(1, "int32"))
            sign = tirx.shift_left(odd, tirx.const(31, "int32"))
            bits = tirx.bitwise_xor(tirx.reinterpret("int32", sine), sign)
            return tirx.reinterpret("float32", bits)

        return _let(r * r, signed)

    return _let(x, lambda v: _reduced(v, 1.0 / math.pi, PI_PARTS, body))


def exp_expression(x: Expr) -> Expr:
    """e^x, the argument clamped to [-87, 88], relative error 1.2e-7 (see `kernels.math.exp`)."""

    def body(n: Expr, r: Expr) -> Expr:
        mantissa = _horner(r, EXP_POLYNOMIAL) * (r * r) + r + _f32(1.0)
        exponent = tirx.Cast("int32", n) + tirx.const(127, "int32")
        bits = tirx.shift_left(exponent, tirx.const(23, "int32"))
        return mantissa * tirx.reinterpret("float32", bits)

    # A comparison with NaN is false, so NaN passes both selects.
    low, high = _f32(-87.0), _f32(88.0)
    return _let(
        x,
        lambda v: _let(
            tirx.Select(v < low, low, tirx.Select(v > high, high, v)),
            lambda clamped: _reduced(clamped, LOG2_E, LN2_PARTS, body),
        ),
    )


def sigmoid_expression(x: Expr) -> Expr:
    """1 / (1 + e^-x), absolute error 1.2e-7."""
    return _f32(1.0) / (_f32(1.0) + exp_expression(_f32(0.0) - x))


def tanh_expression(x: Expr) -> Expr:
    """Hyperbolic tangent, absolute error 2e-7."""
    return _let(x, lambda v: _f32(1.0) - _f32(2.0) / (_f32(1.0) + exp_expression(v + v)))


def gelu_tanh_expression(x: Expr) -> Expr:
    """x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))), absolute error 3e-7 * max(1, |x|)."""
    slope = 2.0 * math.sqrt(2.0 / math.pi)
    return _let(
        x,
        lambda v: v * sigmoid_expression(v * (v * v * _f32(0.044715 * slope) + _f32(slope))),
    )


def _legalization(
    name: str, expression: Function, otherwise: Callable[[te.Tensor], te.Tensor]
) -> Callable[[relax.BlockBuilder, relax.Call], relax.Expr]:
    def compute(x: te.Tensor) -> te.Tensor:
        return te.compute(x.shape, lambda *index: expression(x(*index)), name=name)

    def legalize(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
        (x,) = call.args
        single = str(x.ty.dtype) == "float32"
        return builder.call_te(compute if single else otherwise, x, primfunc_name_hint=name)

    return legalize


def _gelu_tanh_by_tvm(x: te.Tensor) -> te.Tensor:
    slope = math.sqrt(2.0 / math.pi)
    return 0.5 * x * (1.0 + topi.tanh(slope * (x + 0.044715 * x * x * x)))


ELEMENTARY_FUNCTIONS: Mapping[str, Callable[[relax.BlockBuilder, relax.Call], relax.Expr]] = {
    "relax.sin": _legalization("sin", sin_expression, topi.sin),
    "relax.exp": _legalization("exp", exp_expression, topi.exp),
    "relax.sigmoid": _legalization("sigmoid", sigmoid_expression, topi.sigmoid),
    "relax.tanh": _legalization("tanh", tanh_expression, topi.tanh),
    "relax.nn.gelu_tanh": _legalization("gelu_tanh", gelu_tanh_expression, _gelu_tanh_by_tvm),
}
"""For `LegalizeOps(customize_legalize_map=…)`."""
