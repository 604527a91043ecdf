"""bucketize, which 0.25 searches with positions of the values' dtype: floats do not build."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.functions import without_converter as missing


def bucketize(importer: Any, node: Any, previous: Any) -> Any:
    """searchsorted with the arguments the other way."""
    values, boundaries = importer.retrieve_args(node)[:2]
    return missing.searchsorted(importer, _emit.view(node, boundaries, values, **node.kwargs), None)


@_probe.wrong
def _still_wrong() -> bool:
    """Is the kernel's result, the places, of the values' dtype?"""
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
