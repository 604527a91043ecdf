"""reshape and view to symbolic sizes.

Stock compares the sizes with the current shape in Python, which raises if both are symbolic.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe, _symbolic
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix, needs_previous


@needs_previous
def reshape(importer: Any, node: Any, previous: Any) -> Any:
    x, *sizes = importer.retrieve_args(node)
    sizes = list(sizes[0] if isinstance(sizes[0], list | tuple) else sizes)
    if all(_compat.as_int(size) is not None for size in sizes):
        return previous(node)
    proved = _symbolic.proved_shape(importer, node)
    target = [_emit.int64(_compat.prim(size)) for size in proved or sizes]
    shape = [_emit.int64(dim) for dim in _compat.shape_of(x)]
    if len(shape) == len(target) and all(map(_compat.prim_equal, shape, target)):
        return x
    return _emit.emit(importer, relax.op.reshape(x, target))


@_probe.wrong
def _still_wrong() -> bool:
    x = _probe.Input((3, "n"))
    made = _probe.convert("reshape.default", x, [_probe.Symbol("n"), 3], out=(("n", 3), "float32"))
    return made.shape is None or len(made.shape) != 2


FIX = Fix(
    id="reshape",
    what="reshape(n, 3) of a tensor of shape (3, n) fails",
    op="aten.reshape, aten.view",
    affected="",
    converters=dict.fromkeys(("reshape.default", "view.default", "_unsafe_view.default"), reshape),
    probe=_still_wrong,
)
