"""scalar_tensor of a symbolic size."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._fix import Fix


def scalar_tensor(importer: Any, node: Any, previous: Any) -> Any:
    import torch

    value = importer.retrieve_args(node)[0]
    if not _compat.is_prim(value):
        return previous(node)
    given = node.kwargs.get("dtype") or torch.get_default_dtype()
    dtype = _emit.result_dtype(importer, node) or _emit.torch_dtype(importer, given)
    return _emit.scalar(importer, value, dtype)


@_probe.wrong
def _still_wrong() -> bool:
    made = _probe.convert("scalar_tensor.default", _probe.Symbol("n"), out=((), "float32"))
    return made.dtype != "float32"


FIX = Fix(
    id="scalar_tensor",
    what="scalar_tensor of a symbolic size",
    op="aten.scalar_tensor",
    affected="",
    converters={"scalar_tensor.default": scalar_tensor},
    probe=_still_wrong,
)
