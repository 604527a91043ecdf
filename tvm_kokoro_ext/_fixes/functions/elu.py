"""elu and selu with all their scales and the digits of small numbers.

Stock's elu only reads alpha, and both are `exp(x) - 1` below zero: 0 for every x above -3e-8.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import elementary, elementwise, zero

# The constants of Klambauer and others, "Self-Normalizing Neural Networks", as PyTorch has them.
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def elu(importer: Any, node: Any, previous: Any) -> Any:
    x, alpha, scale, input_scale = _emit.arguments(
        importer, node, "self", "alpha", "scale", "input_scale", alpha=1, scale=1, input_scale=1
    )
    return _elu(importer, x, alpha * scale, scale, input_scale, "elu")


def selu(importer: Any, node: Any, previous: Any) -> Any:
    x = importer.retrieve_args(node)[0]
    return _elu(importer, x, _SELU_ALPHA * _SELU_SCALE, _SELU_SCALE, 1, "selu")


def _elu(importer: Any, x: Any, below: float, above: float, input_scale: float, hint: str) -> Any:
    """above · x where x is positive, and below · (exp(input_scale · x) - 1) elsewhere."""
    dtype = _compat.dtype_of(x)

    def element(value: Any) -> Any:
        value = value.asobject()  # an element of a TE tensor as an expression

        curve = elementary.expm1(zero.product(input_scale, value, dtype))
        return tirx.Select(
            value > tirx.const(0, dtype),
            zero.product(above, value, dtype),
            zero.product(below, curve, dtype),
        )

    return elementwise.emit(importer, element, x, hint=hint)


@_probe.wrong
def _still_wrong() -> bool:
    """Whether the scale is missing, or 1 is subtracted from an exponential."""
    made = _probe.convert("elu.default", _probe.Input((4,)), 1.5, 1.25, out=((4,), "float32"))
    unscaled = "1.25" not in str(made.function) and "1.875" not in str(made.function)
    return unscaled or {"relax.exp", "relax.subtract"} <= set(made.ops)


FIX = Fix(
    id="elu",
    what="elu drops scale and input_scale (selu, decomposed, is wrong) and, near zero, all digits",
    op="aten.elu, aten.selu",
    affected="",
    converters={"elu.default": elu, "selu.default": selu},
    probe=_still_wrong,
)
