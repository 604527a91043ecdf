"""softshrink of infinities; stock multiplies by a mask, and ∞ · 0 is NaN."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import elementwise


def softshrink(importer: Any, node: Any, previous: Any) -> Any:
    x, width = _emit.arguments(importer, node, "self", "lambd", lambd=0.5)
    dtype = _compat.dtype_of(x)

    def shrink(value: Any) -> Any:
        bound, zero = tirx.const(width, dtype), tirx.const(0, dtype)
        inside = tirx.Select(tirx.isnan(value), value, zero)
        below = tirx.Select(value < -bound, value + bound, inside)
        return tirx.Select(value > bound, value - bound, below)

    return elementwise.emit(importer, shrink, x, hint="softshrink")


@_probe.wrong
def _still_wrong() -> bool:
    made = _probe.convert("softshrink.default", _probe.Input((4,)), out=((4,), "float32"))
    return "relax.multiply" in made.ops


FIX = Fix(
    id="softshrink",
    what="softshrink of infinity is NaN",
    op="aten.softshrink",
    affected="",
    converters={"softshrink.default": softshrink},
    probe=_still_wrong,
)
