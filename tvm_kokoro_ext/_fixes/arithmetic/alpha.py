"""add, sub and rsub multiply their second operand by `alpha`; stock drops it."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix, needs_previous
from tvm_kokoro_ext._fixes._shared import promotion


@needs_previous
def with_alpha(importer: Any, node: Any, previous: Any) -> Any:
    args = importer.retrieve_args(node)
    alpha = args[2] if len(args) > 2 else importer._retrieve_args(node.kwargs.get("alpha", 1))
    if isinstance(alpha, int | float) and alpha == 1:
        return previous(node)
    name = node.target.__name__
    lhs, rhs = args[:2]
    dtype = promotion.common_dtype(importer, name, lhs, rhs)
    lhs, rhs = (_emit.tensor_or_scalar(importer, value, dtype) for value in (lhs, rhs))
    factor = _emit.tensor_or_scalar(importer, alpha, dtype)
    if name.startswith("rsub"):  # other - alpha * self
        lhs = _emit.emit(importer, relax.op.multiply(lhs, factor))
    else:
        rhs = _emit.emit(importer, relax.op.multiply(rhs, factor))
    return previous(_emit.view(node, lhs, rhs))


@_probe.wrong
def _still_wrong() -> bool:
    x = _probe.Input((4,))
    out = ((4,), "float32")
    names = ("add.Tensor", "sub.Tensor", "rsub.Scalar")
    made = [_probe.convert(name, x, x, out=out, alpha=3) for name in names]
    return not all("relax.multiply" in each.ops for each in made)


_NAMES = (
    "add.Tensor",
    "add.Scalar",
    "add_.Tensor",
    "sub.Tensor",
    "sub.Scalar",
    "rsub.Tensor",
    "rsub.Scalar",
)

FIX = Fix(
    id="alpha",
    what="add, sub and rsub drop alpha",
    op="aten.add, aten.sub, aten.rsub",
    affected="",
    converters=dict.fromkeys(_NAMES, with_alpha),
    probe=_still_wrong,
)
