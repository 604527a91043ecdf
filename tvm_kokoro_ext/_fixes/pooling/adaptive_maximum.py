"""adaptive_max_pool for constant and symbolic sizes, with its indices.

Torch decomposes some of these operators for the example's size only. With a symbolic axis, they are
excluded from the decomposition (see `keep`), and a kernel computes the windows from the actual
size.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe, _symbolic
from tvm_kokoro_ext._compat import T, relax, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import loops


def _rank(node: Any) -> int:
    """The number of axes that the operator pools."""
    return next(int(c) for c in node.target.__name__ if c.isdigit())


def is_symbolic(node: Any) -> bool:
    sizes = node.args[0].meta["val"].shape[-_rank(node) :]
    return not all(isinstance(size, int) for size in sizes)


def maximum(importer: Any, node: Any, previous: Any) -> Any:
    return _emit.emit(importer, relax.Tuple(_pool(importer, node)))


def _pool(importer: Any, node: Any) -> list[Any]:
    """Values and indices; window i of n over an axis of m is [i·m // n, ceil((i + 1)·m / n))."""
    x, axes = importer.retrieve_args(node)[0], _rank(node)
    value = node.meta["val"]
    known = _symbolic.known_symbols(importer)
    out = [_symbolic.to_prim(importer, size, known) for size in value[0].shape]
    if any(dim is None for dim in out):
        raise _emit.refuse(node, "a size that torch has not proved", "Give the pooled axes' sizes")
    shape, dtype = [_emit.int64(d) for d in _compat.shape_of(x)], _compat.dtype_of(x)

    def body(dims: Any, values: Any, places: Any, data: Any, *extents: Any) -> None:
        plane, small = list(extents[-axes:]), dims[0][-axes:]
        with T.serial(0, _emit.extent(dims[0][:-axes])) as row, loops.grid(*small) as spot:
            at = row * _emit.extent(small) + loops.flat(spot, small)
            each = list(zip(spot, plane, small, strict=True))
            start = [tirx.floordiv(i * m, n) for i, m, n in each]
            end = [tirx.floordiv((i + 1) * m + n - 1, n) for i, m, n in each]
            counts = [last - first for first, last in zip(start, end, strict=True)]
            values[at] = -tirx.infinity(dtype)
            places[at] = loops.flat(start, plane)
            with loops.grid(*counts) as inner:
                position = [first + k for first, k in zip(start, inner, strict=True)]
                offset = loops.flat(position, plane)
                element = data[row * _emit.extent(plane) + offset]
                with T.If(tirx.any(element > values[at], tirx.isnan(element))), T.Then():
                    values[at] = element
                    places[at] = offset

    results = [(out, dtype), (out, "int64")]
    return loops.emit(importer, body, results, x, *shape, hint="adaptive_max_pool")


NAMES = tuple(f"adaptive_max_pool{rank}d.default" for rank in (1, 2, 3))

FIX = Fix(
    id="adaptive_maximum",
    what="adaptive_max_pool has the windows of the example's size, and no indices",
    op="aten.adaptive_max_pool1d, aten.adaptive_max_pool2d, aten.adaptive_max_pool3d",
    affected="",
    converters=dict.fromkeys(NAMES, maximum),
    probe=_probe.lacks("adaptive_max_pool2d.default"),
)
