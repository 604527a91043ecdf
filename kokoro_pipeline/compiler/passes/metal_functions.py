"""Elementary functions for Metal that stay accurate under fast math.

TVM's Metal runtime compiles with fast math, under which `sin` has an error of 2^-13 and sums may be
reassociated. The functions here are the polynomials of `kernels.gpu.math` as scalar expressions
that fuse with their neighbours. They are chains of fused multiply-adds, which a compiler may not
split. They are passed to `LegalizeOps(customize_legalize_map=…)`; dtypes other than float32 keep
TVM's own legalization.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tvm import relax, te, tirx, topi

from ..kernels.gpu.math import EXP_POLYNOMIAL, LN2_PARTS, LOG2_E, PI_PARTS, SIN_POLYNOMIAL, fma
from .elementary_functions import Expr, Function, gelu_tanh_by_tvm, legalization, let, single


def _horner(x: Expr, coefficients: tuple[float, ...]) -> Expr:
    value: Expr = single(coefficients[0])
    for coefficient in coefficients[1:]:
        value = fma(value, x, single(coefficient))
    return value


def _without(n: Expr, parts: tuple[float, ...], x: Expr) -> Expr:
    """x - n * sum(parts), subtracting one part after the other."""
    for part in parts:
        x = fma(n, single(-part), x)
    return x


def _signed_sine(n: Expr, r: Expr, flip: int = 0) -> Expr:
    """(-1)^(n + flip) sin r for |r| <= pi / 2."""

    def body(z: Expr) -> Expr:
        sine = fma(r * z, _horner(z, SIN_POLYNOMIAL), r)
        count = tirx.Cast("int32", n) + tirx.const(flip, "int32")
        odd = tirx.bitwise_and(count, tirx.const(1, "int32"))
        sign = tirx.shift_left(odd, tirx.const(31, "int32"))
        bits = tirx.bitwise_xor(tirx.reinterpret("int32", sine), sign)
        return tirx.reinterpret("float32", bits)

    return let(r * r, body)


def sin_expression(x: Expr) -> Expr:
    """sin x for |x| <= 1e4, absolute error 1.5e-7."""
    return let(
        x,
        lambda v: let(
            tirx.floor(fma(v, single(1 / math.pi), single(0.5))),
            lambda n: let(_without(n, PI_PARTS, v), lambda r: _signed_sine(n, r)),
        ),
    )


def cos_expression(x: Expr) -> Expr:
    """cos x for |x| <= 1e4, absolute error 1.5e-7.

    Computed as (-1)^(n + 1) sin(x - (n + 1/2) pi) with n = floor(x / pi).
    """
    return let(
        x,
        lambda v: let(
            tirx.floor(v * single(1 / math.pi)),
            lambda n: let(
                _without(n + single(0.5), PI_PARTS, v), lambda r: _signed_sine(n, r, flip=1)
            ),
        ),
    )


def exp_expression(x: Expr) -> Expr:
    """e^x with x clamped to [-87, 88]; relative error 1.5e-7."""

    def scaled(n: Expr, r: Expr) -> Expr:
        mantissa = fma(_horner(r, EXP_POLYNOMIAL), r * r, r) + single(1)
        exponent = tirx.Cast("int32", n) + tirx.const(127, "int32")
        bits = tirx.shift_left(exponent, tirx.const(23, "int32"))
        return mantissa * tirx.reinterpret("float32", bits)

    return let(
        tirx.max(tirx.min(x, single(88)), single(-87)),
        lambda v: let(
            tirx.floor(fma(v, single(LOG2_E), single(0.5))),
            lambda n: let(_without(n, LN2_PARTS, v), lambda r: scaled(n, r)),
        ),
    )


def sigmoid_expression(x: Expr) -> Expr:
    """1 / (1 + e^-x), absolute error 1.2e-7."""
    return single(1) / (single(1) + exp_expression(single(0) - x))


def tanh_expression(x: Expr) -> Expr:
    """Hyperbolic tangent, absolute error 2e-7."""
    return let(x, lambda v: single(1) - single(2) / (single(1) + exp_expression(v + v)))


def gelu_tanh_expression(x: Expr) -> Expr:
    """x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))), absolute error 3e-7 * max(1, |x|)."""
    slope = 2.0 * math.sqrt(2.0 / math.pi)
    return let(
        x,
        lambda v: v * sigmoid_expression(v * fma(v * v, single(0.044715 * slope), single(slope))),
    )


_FUNCTIONS: Mapping[str, tuple[Function, Callable[[te.Tensor], te.Tensor]]] = {
    "relax.sin": (sin_expression, topi.sin),
    "relax.cos": (cos_expression, topi.cos),
    "relax.exp": (exp_expression, topi.exp),
    "relax.sigmoid": (sigmoid_expression, topi.sigmoid),
    "relax.tanh": (tanh_expression, topi.tanh),
    "relax.nn.gelu_tanh": (gelu_tanh_expression, gelu_tanh_by_tvm),
}

METAL_FUNCTIONS: Mapping[str, Callable[[relax.BlockBuilder, relax.Call], relax.Expr]] = {
    name: legalization(name.rpartition(".")[2], {"float32": expression}, otherwise)
    for name, (expression, otherwise) in _FUNCTIONS.items()
}
"""For `LegalizeOps(customize_legalize_map=…)`."""
