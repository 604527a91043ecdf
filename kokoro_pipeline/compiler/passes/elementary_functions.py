"""Elementary functions as polynomials that vectorize, instead of one library call per element.

The legalizations are passed to `LegalizeOps` as an argument, so nothing global changes. They are
scalar expressions, which fuse with their neighbours and are vectorized together with the
surrounding loop. Formulas and error bounds are those of `kernels.cpu.math`. In float64 only the
sine is covered, which the harmonic source evaluates millions of times; the other functions keep
TVM's own legalization.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tvm import relax, te, tirx, topi

from ..kernels.common.polynomials import (
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
    """A floating-point type and its constants for sin x = (-1)^n (r + r z P(z)).

    Here r = x - n pi and z = r^2.
    """

    dtype: str
    bits: int
    pi_parts: tuple[float, ...]
    """Summands of pi; the first ones have few significant bits, so that n times them is exact."""
    sin_polynomial: tuple[float, ...]

    def const(self, value: float) -> Expr:
        return tirx.const(value, self.dtype)

    @property
    def integer(self) -> str:
        """The integer type of the same width."""
        return f"int{self.bits}"


SINGLE = Format("float32", 32, PI_PARTS, SIN_POLYNOMIAL)
DOUBLE = Format(
    "float64",
    64,
    (3.1415926218032837, 3.1786509424591713e-08, 1.2246467864107189e-16),
    SIN_POLYNOMIAL_64,
)


def single(value: float) -> Expr:
    """A float32 constant."""
    return SINGLE.const(value)


def let(value: Expr, body: Function, dtype: str = "float32") -> Expr:
    """Bind `value` to a variable in `body(variable)`, so that it is computed only once."""
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
    """Range reduction: `body(n, r)` with n = round(x * inverse) and r = x - n * sum(parts).

    The parts are subtracted one by one, which keeps r accurate.
    """

    def with_n(n: Expr) -> Expr:
        r = x
        for part in parts:
            r = r - n * form.const(part)
        return let(r, lambda remainder: body(n, remainder), form.dtype)

    return let(tirx.nearbyint(x * form.const(inverse)), with_n, form.dtype)


def sin_expression(x: Expr, form: Format = SINGLE) -> Expr:
    """sin x.

    In float32 the absolute error is 1.5e-7 for |x| <= 1e4 (see `kernels.cpu.math.sin`); in float64
    it is 3e-16 for |x| <= 1e6.
    """

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
    """e^x, its argument clamped to [-87, 88], relative error 1.2e-7 (`kernels.cpu.math.exp`)."""

    def body(n: Expr, r: Expr) -> Expr:
        mantissa = _horner(r, EXP_POLYNOMIAL) * (r * r) + r + single(1.0)
        exponent = tirx.Cast("int32", n) + tirx.const(127, "int32")
        bits = tirx.shift_left(exponent, tirx.const(23, "int32"))
        return mantissa * tirx.reinterpret("float32", bits)

    # Comparisons with NaN are false, so NaN passes through both selects.
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
    """Make a legalization that uses the expression of the operand's dtype, else `otherwise`."""

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
    """The function of `gelu_tanh_expression`, written with TVM's operators."""
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
