"""round to a number of decimals, which TVM supports from 0.27 on."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix


def round_decimals(importer: Any, node: Any, previous: Any) -> Any:
    """round(x · 10^d) / 10^d, or round(x / 10^-d) · 10^-d for d < 0, as in torch."""
    x = importer.retrieve_args(node)[0]
    decimals = int(node.kwargs.get("decimals", 0))
    dtype = _compat.dtype_of(x)
    if "float" not in dtype:
        return x
    if decimals == 0:
        return _emit.emit(importer, relax.op.round(x))
    wide = "float64" if dtype == "float64" else "float32"
    x = _emit.astype(importer, x, wide)
    power = relax.const(10.0 ** abs(decimals), wide)
    scale, restore = relax.op.multiply, relax.op.divide
    if decimals < 0:
        scale, restore = restore, scale
    rounded = _emit.emit(importer, relax.op.round(_emit.emit(importer, scale(x, power))))
    return _emit.astype(importer, _emit.emit(importer, restore(rounded, power)), dtype)


FIX = Fix(
    id="round_decimals",
    what="round(x, decimals=d) is missing",
    op="aten.round.decimals",
    affected="<0.27",
    converters={"round.decimals": round_decimals},
    probe=_probe.lacks("round.decimals"),
)
