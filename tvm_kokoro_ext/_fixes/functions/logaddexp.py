"""logaddexp; stock's logarithm of a sum of exponentials overflows and underflows."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _probe
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import extremum, indexing
from tvm_kokoro_ext._fixes._shared.legalization import overriding


def log_add_exp(below: Any, builder: Any, call: Any) -> Any:
    """max + log1p(exp(-|x - y|)); the result for two equal infinities is that infinity."""
    if not all(map(_compat.is_tensor, call.args)):
        return below(builder, call)

    def add(x: Any, y: Any) -> Any:
        large = extremum.maximum(x, y)
        added = large + tirx.log1p(tirx.exp(-tirx.abs(x - y)))
        return tirx.if_then_else(tirx.all(tirx.isinf(x), x == y), x, added)

    def compute(lhs: Any, rhs: Any) -> Any:
        shape = indexing.broadcast_shapes([list(lhs.shape), list(rhs.shape)])

        def element(*at: Any) -> Any:
            return add(indexing.read(lhs, list(at)), indexing.read(rhs, list(at)))

        return te.compute(tuple(shape), element, name="log_add_exp")

    return builder.call_te(compute, *call.args, primfunc_name_hint="log_add_exp")


def _still_wrong() -> bool:
    """Whether the kernel exponentiates its operands directly."""
    x = _probe.Input((4,))
    kernel = _probe.legalized(relax.op.log_add_exp, x, x).script()
    return not any(word in kernel for word in ("max", "log1p", "Select", "if_then_else"))


FIX = Fix(
    id="logaddexp",
    what="logaddexp of large numbers is infinite",
    op="relax.log_add_exp",
    affected="",
    install=overriding({"relax.log_add_exp": log_add_exp}),
    probe=_still_wrong,
    needs_torch=False,
)
