"""Complaints that were checked and do not apply to any supported version; never applied."""

from __future__ import annotations

from tvm_kokoro_ext import _probe
from tvm_kokoro_ext._fix import Fix


@_probe.wrong
def _leaky_relu_wrong() -> bool:
    made = _probe.convert("leaky_relu.default", _probe.Input((4,)), 0.1, out=((4,), "float32"))
    return made.ops != ("relax.nn.leakyrelu",)


@_probe.wrong
def _cat_wrong() -> bool:
    x = _probe.Input((3, "n"))
    made = _probe.convert("cat.default", [x, x], 0, out=((6, "n"), "float32"))
    return made.shape is None or made.shape[0] != 6


LEAKY_RELU = Fix(
    id="leaky_relu",
    what="leaky_relu (reported missing; it is there)",
    op="aten.leaky_relu",
    affected="<0",
    upstream="not needed",
    probe=_leaky_relu_wrong,
)
CAT = Fix(
    id="cat",
    what="cat with symbolic dimensions (reported failing; it works)",
    op="aten.cat",
    affected="<0",
    upstream="not needed",
    probe=_cat_wrong,
)
