"""Elementary functions as polynomials that vectorize, in place of one library call an element.

The legalizations here are given to `LegalizeOps` by its scoped hook; nothing global changes. They
are scalar expressions, so that they fuse with their neighbours and the loop's own vectorization
widens them; the mathematics and its error bounds are those of `kernels.math`. In float64 there is
the sine, which the harmonic source takes by the million; the rest keeps TVM's own legalization.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tvm import relax, te, tirx, topi

from ..kernels.cpu.math import (
    EXP_POLYNOMIAL,
    LN2_PARTS,
    LOG2_E,
    PI_PARTS,
    SIN_POLYNOMIAL,
    SIN_POLYNOMIAL_64,
)

Expr = Any
Function = Callable[[Expr], Expr]


@dataclass(frozen=True)
class Format:
    """A floating-point type, and sin x = (-1)^n (r + r z P(z)) in it: r = x - n pi, z = r^2."""

    dtype: str
    bits: int
    pi_parts: tuple[float, ...]
    """Of few bits, so that n times the first parts is exact."""
    sin_polynomial: tuple[float, ...]

    def const(self, value: float) -> Expr:
        return tirx.const(value, self.dtype)

    @property
    def integer(self) -> str:
        """The type of its bits."""
        return f"int{self.bits}"


SINGLE = Format("float32", 32, PI_PARTS, SIN_POLYNOMIAL)
DOUBLE = Format(
    "float64",
    64,
    (3.1415926218032837, 3.1786509424591713e-08, 1.2246467864107189e-16),
    SIN_POLYNOMIAL_64,
)


def single(value: float) -> Expr:
    """A number as float32."""
    return SINGLE.const(value)


def let(value: Expr, body: Function, dtype: str = "float32") -> Expr:
    """`body` over a name for `value`, so that the value is computed once."""
    variable = tirx.Var("v", dtype)
    return tirx.Let(variable, value, body(variable))


def _horner(x: Expr, coefficients: tuple[float, ...], form: Format = SINGLE) -> Expr:
    value: Expr = form.const(coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + form.const(coefficient)
    return value


def _reduced(
    x: Expr,
    inverse: float,
    parts: tuple[float, ...],
    body: Callable[..., Expr],
    form: Format = SINGLE,
) -> Expr:
    """`body(n, r)`: n the integer nearest to x * inverse, r = x - n * sum(parts), part by part."""

    def with_n(n: Expr) -> Expr:
        r = x
        for part in parts:
            r = r - n * form.const(part)
        return let(r, lambda remainder: body(n, remainder), form.dtype)

    return let(tirx.nearbyint(x * form.const(inverse)), with_n, form.dtype)


def sin_expression(x: Expr, form: Format = SINGLE) -> Expr:
    """sin x. float32: |x| <= 1e4, absolute error 1.5e-7 (see `kernels.math.sin`). float64: |x| <=
    1e6, absolute error 3e-16."""

    def body(n: Expr, r: Expr) -> Expr:
        def signed(z: Expr) -> Expr:
            sine = r + r * z * _horner(z, form.sin_polynomial, form)
            odd = tirx.bitwise_and(tirx.Cast(form.integer, n), tirx.const(1, form.integer))
            sign = tirx.shift_left(odd, tirx.const(form.bits - 1, form.integer))
            bits = tirx.bitwise_xor(tirx.reinterpret(form.integer, sine), sign)
            return tirx.reinterpret(form.dtype, bits)

        return let(r * r, signed, form.dtype)

    return let(x, lambda v: _reduced(v, 1.0 / math.pi, form.pi_parts, body, form), form.dtype)


def exp_expression(x: Expr) -> Expr:
    """e^x, the argument clamped to [-87, 88], relative error 1.2e-7 (see `kernels.math.exp`)."""

    def body(n: Expr, r: Expr) -> Expr:
        mantissa = _horner(r, EXP_POLYNOMIAL) * (r * r) + r + single(1.0)
        exponent = tirx.Cast("int32", n) + tirx.const(127, "int32")
        bits = tirx.shift_left(exponent, tirx.const(23, "int32"))
        return mantissa * tirx.reinterpret("float32", bits)

    # A comparison with NaN is false, so NaN passes both selects.
    low, high = single(-87.0), single(88.0)
    return let(
        x,
        lambda v: let(
            tirx.Select(v < low, low, tirx.Select(v > high, high, v)),
            lambda clamped: _reduced(clamped, LOG2_E, LN2_PARTS, body),
        ),
    )


def sigmoid_expression(x: Expr) -> Expr:
    """1 / (1 + e^-x), absolute error 1.2e-7."""
    return single(1.0) / (single(1.0) + exp_expression(single(0.0) - x))


def tanh_expression(x: Expr) -> Expr:
    """Hyperbolic tangent, absolute error 2e-7."""
    return let(x, lambda v: single(1.0) - single(2.0) / (single(1.0) + exp_expression(v + v)))


def gelu_tanh_expression(x: Expr) -> Expr:
    """x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))), absolute error 3e-7 * max(1, |x|)."""
    slope = 2.0 * math.sqrt(2.0 / math.pi)
    return let(
        x,
        lambda v: v * sigmoid_expression(v * (v * v * single(0.044715 * slope) + single(slope))),
    )


Legalization = Callable[[relax.BlockBuilder, relax.Call], relax.Expr]


def legalization(
    name: str,
    expressions: Mapping[str, Function],
    otherwise: Callable[[te.Tensor], te.Tensor],
) -> Legalization:
    """By dtype one of `expressions`, else TVM's own."""

    def legalize(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
        (x,) = call.args
        dtype = str(x.ty.dtype)
        if dtype not in expressions:
            return builder.call_te(otherwise, x, primfunc_name_hint=name)

        def compute(x: te.Tensor) -> te.Tensor:
            return te.compute(x.shape, lambda *index: expressions[dtype](x(*index)), name=name)

        return builder.call_te(compute, x, primfunc_name_hint=name)

    return legalize


def gelu_tanh_by_tvm(x: te.Tensor) -> te.Tensor:
    """What `gelu_tanh_expression` says, in TVM's own operators."""
    slope = math.sqrt(2.0 / math.pi)
    return 0.5 * x * (1.0 + topi.tanh(slope * (x + 0.044715 * x * x * x)))


def _single(expression: Function) -> dict[str, Function]:
    return {SINGLE.dtype: expression}


_SINES = {form.dtype: functools.partial(sin_expression, form=form) for form in (SINGLE, DOUBLE)}

ELEMENTARY_FUNCTIONS: Mapping[str, Legalization] = {
    "relax.sin": legalization("sin", _SINES, topi.sin),
    "relax.exp": legalization("exp", _single(exp_expression), topi.exp),
    "relax.sigmoid": legalization("sigmoid", _single(sigmoid_expression), topi.sigmoid),
    "relax.tanh": legalization("tanh", _single(tanh_expression), topi.tanh),
    "relax.nn.gelu_tanh": legalization(
        "gelu_tanh", _single(gelu_tanh_expression), gelu_tanh_by_tvm
    ),
}
"""For `LegalizeOps(customize_legalize_map=…)`."""
