"""bucketize, which in 0.25 uses positions of the values' dtype and does not build for floats."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.functions import without_converter


def bucketize(importer: Any, node: Any, previous: Any) -> Any:
    """searchsorted with exchanged arguments."""
    values, boundaries = importer.retrieve_args(node)[:2]
    return without_converter.searchsorted(
        importer, _emit.view(node, boundaries, values, **node.kwargs), None
    )


@_probe.wrong
def _still_wrong() -> bool:
    """Whether the resulting positions have the dtype of the values."""
    inputs = _probe.Input((4,), "int32"), _probe.Input((3,), "int32")
    module = _probe.legalized(relax.op.bucketize, *inputs)
    (called,) = (b.value for block in module["main"].body.blocks for b in block.bindings)
    return _compat.dtype_of(called) != "int64"


FIX = Fix(
    id="bucketize",
    what="bucketize of floats does not build, of int32 gives int32",
    op="aten.bucketize",
    affected="<0.26",
    converters={"bucketize.Tensor": bucketize},
    probe=_still_wrong,
)
