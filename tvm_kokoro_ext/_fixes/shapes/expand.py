"""expand with new leading dimensions and -1."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix


def expand(importer: Any, node: Any, previous: Any) -> Any:
    args = importer.retrieve_args(node)
    x, sizes = args[0], args[1] if isinstance(args[1], list | tuple) else args[1:]
    shape = _compat.shape_of(x)
    new = len(sizes) - len(shape)
    target = [
        shape[position - new] if _compat.as_int(size) == -1 else _compat.prim(size)
        for position, size in enumerate(sizes)
    ]
    return _emit.emit(importer, relax.op.broadcast_to(x, target))


@_probe.wrong
def _still_wrong() -> bool:
    x = _probe.Input((3,))
    return _probe.convert("expand.default", x, [2, -1], out=((2, 3), "float32")).shape != (2, 3)


FIX = Fix(
    id="expand",
    what="expand with -1 behind new leading dimensions",
    op="aten.expand",
    affected="<0.27",
    upstream="#20137",
    converters={"expand.default": expand},
    probe=_still_wrong,
)
