"""squeeze drops exactly the axes whose size is the constant 1.

Stock's squeeze() also drops symbolic axes, and fails for a given axis whose size is not 1. An axis
that stays is checked when the program runs: of a size of 1, PyTorch's result has another rank.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _checks, _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix


def squeeze(importer: Any, node: Any, previous: Any) -> Any:
    x, axes = _emit.arguments(importer, node, "self", "dim")
    shape = _compat.shape_of(x)
    if all(isinstance(dim, int) for dim in shape):
        return previous(node)
    if axes is None:
        axes = range(len(shape))
    elif isinstance(axes, int):
        axes = [axes]
    kept = [_compat.prim(shape[axis]) for axis in axes if not isinstance(shape[axis], int)]
    _checks.require(importer, *(size != 1 for size in kept))
    ones = [a for a in (_emit.normalize_axis(a, len(shape)) for a in axes) if shape[a] == 1]
    if len(ones) == len(list(axes)) and len(ones) > 0:
        return previous(node)
    return _emit.emit(importer, relax.op.squeeze(x, ones)) if ones else x


@_probe.wrong
def _still_wrong() -> bool:
    x = _probe.Input(("n", 1, 3))
    return _probe.convert("squeeze.default", x, out=(("n", 3), "float32")).shape is None or (
        len(_probe.convert("squeeze.default", x, out=(("n", 3), "float32")).shape or ()) != 2
    )


FIX = Fix(
    id="squeeze",
    what="squeeze() drops symbolic axes",
    op="aten.squeeze",
    affected="",
    converters={"squeeze.default": squeeze, "squeeze.dim": squeeze, "squeeze.dims": squeeze},
    probe=_still_wrong,
)
