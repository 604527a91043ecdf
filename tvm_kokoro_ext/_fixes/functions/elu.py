"""elu with its scales, to which selu is decomposed; stock only reads alpha."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix, needs_previous


@needs_previous
def elu(importer: Any, node: Any, previous: Any) -> Any:
    x, alpha, scale, input_scale = _emit.arguments(
        importer, node, "self", "alpha", "scale", "input_scale", alpha=1, scale=1, input_scale=1
    )
    if scale == 1 and input_scale == 1:
        return previous(node)
    dtype = _compat.dtype_of(x)

    def constant(value: float) -> Any:
        return relax.const(value, dtype)

    curve = relax.op.exp(relax.op.multiply(x, constant(input_scale)))
    below = relax.op.multiply(constant(alpha * scale), relax.op.subtract(curve, constant(1)))
    above = relax.op.multiply(x, constant(scale))
    positive = relax.op.greater(x, constant(0))
    return _emit.emit(importer, relax.op.where(positive, above, below))


@_probe.wrong
def _still_wrong() -> bool:
    made = _probe.convert("elu.default", _probe.Input((4,)), 1.5, 1.25, out=((4,), "float32"))
    return "1.25" not in str(made.function) and "1.875" not in str(made.function)


FIX = Fix(
    id="elu",
    what="elu drops scale and input_scale (selu, decomposed, is wrong)",
    op="aten.elu",
    affected="",
    converters={"elu.default": elu},
    probe=_still_wrong,
)
