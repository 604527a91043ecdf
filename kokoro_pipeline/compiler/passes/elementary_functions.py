"""Elementary functions as polynomials that fuse and vectorize, instead of library calls.

The legalizations are passed to `LegalizeOps` as an argument, so nothing global changes. They are
scalar expressions, which fuse with their neighbours and are vectorized together with the
surrounding loop. In float64 only the sine is covered, which the harmonic source evaluates millions
of times; the other functions keep TVM's own legalization.

For Metal they are chains of fused multiply-adds, which a compiler may not split: TVM's runtime
compiles with fast math, under which `sin` has an error of 2^-13 and sums may be reassociated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import ClassVar

from tvm import relax, te, tirx, topi

from ..kernels.common import elementary
from ..kernels.common.elementary import Arithmetic
from ..kernels.common.polynomials import SIN_POLYNOMIAL_64
from ..kernels.gpu.math import fma

Function = Callable[[Arithmetic, tirx.Expr], tirx.Expr]


class ScalarExpression(Arithmetic):
    """The arithmetic of one expression, whose named values are bound around it by `Let`."""

    dtype: ClassVar[str] = "float32"

    def __init__(self) -> None:
        self._named: list[tuple[tirx.Var, tirx.Expr]] = []

    @classmethod
    def of(cls, function: Function, x: tirx.Expr) -> tirx.Expr:
        """The expression of a function of x."""
        arithmetic = cls()
        result = function(arithmetic, x)
        for variable, value in reversed(arithmetic._named):
            result = tirx.Let(variable, value, result)
        return result

    def const(self, value: float) -> tirx.Expr:
        return tirx.const(value, self.dtype)

    def integer(self, value: int) -> tirx.Expr:
        return tirx.const(value, f"int{self.bits}")

    def to_integer(self, x: tirx.Expr) -> tirx.Expr:
        return tirx.Cast(f"int{self.bits}", x)

    def from_integer(self, x: tirx.Expr) -> tirx.Expr:
        return tirx.Cast(self.dtype, x)

    def bits_of(self, x: tirx.Expr) -> tirx.Expr:
        return tirx.reinterpret(f"int{self.bits}", x)

    def from_bits(self, bits: tirx.Expr) -> tirx.Expr:
        return tirx.reinterpret(self.dtype, bits)

    def fma(self, a: tirx.Expr, b: tirx.Expr, c: tirx.Expr) -> tirx.Expr:
        return a * b + c

    def nearest(self, x: tirx.Expr, factor: float) -> tirx.Expr:
        return tirx.nearbyint(x * self.const(factor))

    def clamp(self, x: tirx.Expr, low: float, high: float) -> tirx.Expr:
        x, least, most = self.name(x), self.const(low), self.const(high)
        # Comparisons with NaN are false, so NaN passes through both selects.
        return tirx.Select(x < least, least, tirx.Select(x > most, most, x))

    def name(self, value: tirx.Expr) -> tirx.Expr:
        variable = tirx.Var("v", self.dtype)
        self._named.append((variable, value))
        return variable

    def step(self, value: tirx.Expr) -> tirx.Expr:
        return value


class DoubleExpression(ScalarExpression):
    """The same in float64, for the sine."""

    dtype = "float64"
    bits = 64
    pi_parts = (3.1415926218032837, 3.1786509424591713e-08, 1.2246467864107189e-16)
    sin_polynomial = SIN_POLYNOMIAL_64


class FusedExpression(ScalarExpression):
    """The same in fused multiply-adds, for Metal."""

    def fma(self, a: tirx.Expr, b: tirx.Expr, c: tirx.Expr) -> tirx.Expr:
        return fma(a, b, c)

    def nearest(self, x: tirx.Expr, factor: float) -> tirx.Expr:
        return tirx.floor(fma(x, self.const(factor), self.const(0.5)))

    def clamp(self, x: tirx.Expr, low: float, high: float) -> tirx.Expr:
        return tirx.max(tirx.min(x, self.const(high)), self.const(low))


Legalization = Callable[[relax.BlockBuilder, relax.Call], relax.Expr]


def _legalization(
    name: str,
    function: Function,
    otherwise: Callable[[te.Tensor], te.Tensor],
    arithmetics: Mapping[str, type[ScalarExpression]],
) -> Legalization:
    """Compute a function in the arithmetic of the operand's dtype, else as `otherwise` does."""

    def legalize(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
        (x,) = call.args
        arithmetic = arithmetics.get(str(x.ty.dtype))
        if arithmetic is None:
            return builder.call_te(otherwise, x, primfunc_name_hint=name)

        def compute(x: te.Tensor) -> te.Tensor:
            def element(*index: tirx.Expr) -> tirx.Expr:
                return arithmetic.of(function, x(*index))

            return te.compute(x.shape, element, name=name)

        return builder.call_te(compute, x, primfunc_name_hint=name)

    return legalize


def _gelu_tanh(x: te.Tensor) -> te.Tensor:
    """`elementary.gelu_tanh`, written with TVM's operators."""
    slope = math.sqrt(2.0 / math.pi)
    return 0.5 * x * (1.0 + topi.tanh(slope * (x + 0.044715 * x * x * x)))


_FUNCTIONS: Mapping[str, tuple[Function, Callable[[te.Tensor], te.Tensor]]] = {
    "relax.sin": (elementary.sin, topi.sin),
    "relax.cos": (elementary.cos, topi.cos),
    "relax.exp": (elementary.exp, topi.exp),
    "relax.sigmoid": (elementary.sigmoid, topi.sigmoid),
    "relax.tanh": (elementary.tanh, topi.tanh),
    "relax.nn.gelu_tanh": (elementary.gelu_tanh, _gelu_tanh),
}


def _legalizations(
    single: type[ScalarExpression], double: type[ScalarExpression] | None = None
) -> dict[str, Legalization]:
    found = {}
    for operator, (function, otherwise) in _FUNCTIONS.items():
        arithmetics = {"float32": single}
        if double is not None and function is elementary.sin:
            arithmetics["float64"] = double
        name = operator.rpartition(".")[2]
        found[operator] = _legalization(name, function, otherwise, arithmetics)
    return found


METAL_FUNCTIONS: Mapping[str, Legalization] = _legalizations(FusedExpression)
ELEMENTARY_FUNCTIONS: Mapping[str, Legalization] = {
    name: legalization
    for name, legalization in _legalizations(ScalarExpression, DoubleExpression).items()
    if name != "relax.cos"
}
"""For `LegalizeOps(customize_legalize_map=…)`; on a CPU the cosine is TVM's."""
