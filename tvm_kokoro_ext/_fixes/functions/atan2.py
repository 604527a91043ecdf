"""atan2, for which 0.25 has no converter."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _emit, _probe
from tvm_kokoro_ext._compat import tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import elementwise, promotion


def atan2(importer: Any, node: Any, previous: Any) -> Any:
    y, x = importer.retrieve_args(node)[:2]
    dtype = promotion.common_dtype(importer, "atan2.default", y, x)
    operands = [_emit.tensor_or_scalar(importer, value, dtype) for value in (y, x)]
    return elementwise.emit(importer, tirx.atan2, *operands, hint="atan2")


FIX = Fix(
    id="atan2",
    what="atan2 is missing",
    op="aten.atan2",
    affected="<0.26",
    upstream="#19850",
    converters={"atan2.default": atan2},
    probe=_probe.lacks("atan2.default"),
)
