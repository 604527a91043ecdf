"""The activations of LSTM, GRU and RNN of ONNX, as functions of scalar expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import tirx
from tvm_kokoro_ext._fixes.onnx import _frontend

#: Of a scalar expression.
Activation = Callable[[Any], Any]


def named(attr: Any, standard: tuple[str, ...], operator: str) -> tuple[str, ...]:
    """The names of the activations, those of all directions; refused if they are clipped."""
    if attr.get("clip"):
        raise _frontend.refusal(operator, "it clips its gates", "Leave out the attribute clip")
    directions = 2 if text(attr.get("direction", "forward")) == "bidirectional" else 1
    names = tuple(text(name).capitalize() for name in attr.get("activations", ()))
    return names or standard * directions


def functions(attr: Any, standard: tuple[str, ...], operator: str) -> list[tuple[Activation, ...]]:
    """The activations of each direction; refused if they are unknown, or clipped."""
    names, count = named(attr, standard, operator), len(standard)
    if not set(names) <= set(_DEFINED) or len(names) not in (count, 2 * count):
        raise _frontend.refusal(
            operator,
            f"its activations are {', '.join(names)}",
            f"Use {count} for each direction, of {', '.join(_DEFINED)}",
        )
    factors = [list(attr.get(f"activation_{name}", ())) for name in ("alpha", "beta")]
    made = [_function(name, factors) for name in names]
    return [tuple(made[at : at + count]) for at in range(0, len(made), count)]


def text(value: Any) -> str:
    """An attribute of text."""
    return value.decode() if isinstance(value, bytes) else str(value)


def _function(name: str, factors: list[list[float]]) -> Activation:
    """An activation, which takes the first of each list of factors that it has, if there is any."""
    defaults, definition = _DEFINED[name]
    own = [given.pop(0) if given else factor for factor, given in zip(defaults, factors)]  # noqa: B905

    def apply(value: Any) -> Any:
        dtype = _compat.prim_dtype(value)
        return definition(value, *[tirx.const(float(number), dtype) for number in (0, 1, *own)])

    return apply


def _elu(x: Any, zero: Any, one: Any, alpha: Any) -> Any:
    return tirx.Select(x < zero, alpha * (tirx.exp(x) - one), x)


def _hard_sigmoid(x: Any, zero: Any, one: Any, alpha: Any, beta: Any) -> Any:
    line = alpha * x + beta
    return tirx.Select(line < zero, zero, tirx.Select(line > one, one, line))


def _softplus(x: Any, zero: Any, one: Any) -> Any:
    return tirx.Select(x > zero, x, zero) + tirx.log1p(tirx.exp(-tirx.abs(x)))


#: By name: alpha and beta where the model gives none, and the function of x, 0, 1, alpha and beta.
_DEFINED: dict[str, tuple[tuple[float, ...], Callable[..., Any]]] = {
    "Sigmoid": ((), lambda x, zero, one: tirx.sigmoid(x)),
    "Tanh": ((), lambda x, zero, one: tirx.tanh(x)),
    "Relu": ((), lambda x, zero, one: tirx.Select(x < zero, zero, x)),
    "Hardsigmoid": ((0.2, 0.5), _hard_sigmoid),
    "Affine": ((1.0, 0.0), lambda x, zero, one, alpha, beta: alpha * x + beta),
    "Leakyrelu": ((0.01,), lambda x, zero, one, alpha: tirx.Select(x < zero, alpha * x, x)),
    "Elu": ((1.0,), _elu),
    "Softsign": ((), lambda x, zero, one: x / (one + tirx.abs(x))),
    "Softplus": ((), _softplus),
}
