"""bucketize, which 0.25 searches with positions of the values' dtype: floats do not build."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _emit, _probe
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes import missing


def bucketize(importer: Any, node: Any, previous: Any) -> Any:
    """searchsorted with the arguments the other way."""
    values, boundaries = importer.retrieve_args(node)[:2]
    return missing.searchsorted(importer, _emit.view(node, boundaries, values, **node.kwargs), None)


FIX = Fix(
    id="bucketize",
    what="bucketize of floats does not build, of int32 gives int32",
    op="aten.bucketize",
    affected="<0.26",
    converters={"bucketize.Tensor": bucketize},
    probe=_probe.always,
)
