"""bucketize, for which NaN is before all boundaries in stock and behind them in PyTorch.

In 0.25 it uses positions of the values' dtype, and does not build for floats.
"""

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
def _dtype_is_of_the_values() -> bool:
    """Whether the resulting positions have the dtype of the values."""
    inputs = _probe.Input((4,), "int32"), _probe.Input((3,), "int32")
    module = _probe.legalized(relax.op.bucketize, *inputs)
    (called,) = (b.value for block in module["main"].body.blocks for b in block.bindings)
    return _compat.dtype_of(called) != "int64"


@_probe.wrong
def _nan_is_in_front() -> bool:
    """Whether the kernel compares floats without a look at NaN."""
    module = _probe.legalized(relax.op.bucketize, _probe.Input((4,)), _probe.Input((3,)))
    return "isnan" not in module.script()


FIX = Fix(
    id="bucketize",
    what="bucketize puts NaN in front; in 0.25 it does not build, or gives int32",
    op="aten.bucketize",
    affected="",
    converters={"bucketize.Tensor": bucketize},
    probe=_probe.any_of(_dtype_is_of_the_values, _nan_is_in_front),
)
