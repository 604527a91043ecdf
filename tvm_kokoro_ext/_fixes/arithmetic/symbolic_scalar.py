"""Binary operators of a tensor and a symbolic scalar, in either order."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._fix import Fix, needs_previous
from tvm_kokoro_ext._fixes._shared import promotion


@needs_previous
def with_symbolic_scalar(importer: Any, node: Any, previous: Any) -> Any:
    args = importer.retrieve_args(node)
    operands = args[:2]
    symbolic = [_compat.is_prim(value) for value in operands]
    if not any(symbolic) or not any(_compat.is_tensor(value) for value in operands):
        return previous(node)
    dtype = promotion.common_dtype(importer, node.target.__name__, *operands)
    cast = [_emit.tensor_or_scalar(importer, value, dtype) for value in operands]
    return previous(_emit.view(node, *cast, *args[2:], **node.kwargs))


@_probe.wrong
def _still_wrong() -> bool:
    x, n = _probe.Input(("n",)), _probe.Symbol("n", 2)
    product = _probe.convert("mul.Tensor", x, n, out=(("n",), "float32"))
    difference = _probe.convert("rsub.Scalar", x, n, out=(("n",), "float32"))
    return product.dtype != "float32" or difference.dtype != "float32"


FIX = Fix(
    id="symbolic_scalar",
    what="tensor (op) symbolic scalar",
    op="aten binary operators",
    affected="",
    converters={name: with_symbolic_scalar for name in promotion.BINARY if name != "add_.Scalar"},
    probe=_still_wrong,
)
