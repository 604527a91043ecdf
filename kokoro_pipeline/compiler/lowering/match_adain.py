"""Find adaptive instance norm and its activation in an imported program.

The patterns match Relax operators (`relax.dpl`), not names: any program that expresses the same
computation is matched, and everything else is left to the general rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import tvm
from tvm import relax
from tvm.relax.dpl import is_const, is_op, is_tuple_get_item, wildcard

from ..kernels.common.producer import Activation, Producer

Bindings = Mapping[relax.Var, relax.Expr]


@dataclass(frozen=True)
class AdaIN:
    """`activation((1 + gamma) * instance_norm(x) + beta)`, as expressions of the matched program.

    `x` is [B, C, L]; `style` is [B, 2C], gamma before beta. `alpha` is the parameter of Snake,
    `slope` that of LeakyReLU; if both are None, there is no activation.
    """

    x: relax.Var
    weight: relax.Expr
    bias: relax.Expr
    style: relax.Var
    epsilon: float
    alpha: relax.Expr | None = None
    slope: float | None = None

    @property
    def channels(self) -> int:
        return int(self.x.ty.shape[1])

    @property
    def producer(self) -> Producer:
        """The norm and the activation as what a kernel does to its input."""
        if self.alpha is not None:
            return Producer(adain=True, activation=Activation.SNAKE)
        if self.slope is not None:
            return Producer(adain=True, activation=Activation.LEAKY_RELU, slope=self.slope)
        return Producer(adain=True)


class _AdaINPattern:
    """scale * instance_norm(x) + beta, where scale = gamma + 1 and one vector holds gamma, beta."""

    def __init__(self) -> None:
        column, add, multiply = (
            is_op(f"relax.{name}") for name in ("expand_dims", "add", "multiply")
        )
        self.one = is_const()
        self.halves = is_op("relax.split")(wildcard())
        gamma, beta = (is_tuple_get_item(self.halves, half) for half in range(2))
        self.norm = is_op("relax.nn.instance_norm")(wildcard(), wildcard(), wildcard())
        self.columns = column(add(gamma, self.one)), column(beta)
        scale, shift = self.columns
        self.root = add(multiply(scale, self.norm), shift)


class _SnakePattern:
    """y + 1 / alpha * sin(alpha * y)^2.

    torch exports 1 / alpha as reciprocal(alpha) * 1, and the extension leaves the factor out.
    """

    def __init__(self) -> None:
        add, multiply, divide = (is_op(f"relax.{name}") for name in ("add", "multiply", "divide"))
        y, alpha = wildcard(), wildcard()
        self.one = is_const()
        self.phase = multiply(alpha, y)
        wave = is_op("relax.sin")(self.phase)
        inverse = divide(self.one, alpha)
        self.root = add(y, multiply(inverse, multiply(wave, wave)))


_ADAIN, _SNAKE = _AdaINPattern(), _SnakePattern()


def _is_one(constant: relax.Expr) -> bool:
    return bool((constant.value.numpy() == 1.0).all())


def _is_column(expression: relax.Expr, channels: int) -> bool:
    """Whether a tensor has the shape [1, channels, 1]."""
    extents = list(expression.ty.shape)
    constant = all(isinstance(extent, tvm.tirx.IntImm) for extent in extents)
    return constant and [int(extent) for extent in extents] == [1, channels, 1]


def _match_affine(
    expression: relax.Expr,
    bindings: Bindings,
    alpha: relax.Expr | None = None,
    slope: float | None = None,
) -> AdaIN | None:
    found = _ADAIN.root.extract_matched_expr(expression, dict(bindings))
    if found is None or not _is_one(found[_ADAIN.one]):
        return None
    norm, halves = found[_ADAIN.norm], found[_ADAIN.halves]
    x, weight, bias = norm.args
    channels = x.ty.shape[1]
    sections = [int(section) for section in halves.attrs.indices_or_sections]
    if [int(axis) for axis in norm.attrs.axes] != [2] or int(halves.attrs.axis) != 1:
        return None
    if not isinstance(channels, tvm.tirx.IntImm) or sections != [int(channels)]:
        return None
    if any([int(axis) for axis in found[column].attrs.axis] != [2] for column in _ADAIN.columns):
        return None
    if alpha is not None and not _is_column(alpha, int(channels)):
        return None
    return AdaIN(x, weight, bias, halves.args[0], float(norm.attrs.epsilon), alpha, slope)


def match_adain(expression: relax.Expr, bindings: Bindings) -> AdaIN | None:
    """The adaptive instance norm and activation that define a variable, or None."""
    call = bindings.get(expression) if isinstance(expression, relax.Var) else None
    if not isinstance(call, relax.Call) or not isinstance(call.op, tvm.ir.Op):
        return None
    if call.op.name == "relax.nn.leakyrelu":
        slope = float(call.attrs.alpha)
        # With any other slope, LeakyReLU is not the maximum of the two lines.
        return _match_affine(call.args[0], bindings, slope=slope) if 0 <= slope <= 1 else None
    if call.op.name == "relax.add":
        found = _SNAKE.root.extract_matched_expr(expression, dict(bindings))
        if found is not None and _is_one(found[_SNAKE.one]):
            alpha, y = found[_SNAKE.phase].args
            return _match_affine(y, bindings, alpha=alpha)
    return None
