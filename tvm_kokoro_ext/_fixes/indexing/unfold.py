"""unfold and as_strided, on constant and symbolic axes."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import indexing


def unfold(importer: Any, node: Any, previous: Any) -> Any:
    x, axis, size, step = _emit.arguments(importer, node, "self", "dimension", "size", "step")
    shape = _compat.shape_of(x)
    axis = _emit.normalize_axis(axis, len(shape))
    windows = (shape[axis] - size) // step + 1
    if not isinstance(shape[axis], int):
        windows = tirx.floordiv(shape[axis] - size, step) + 1
    out = [*shape[:axis], windows, *shape[axis + 1 :], size]

    def compute(data: Any, dims: Any) -> Any:
        def read(*at: Any) -> Any:
            return data(*at[:axis], at[axis] * step + at[-1], *at[axis + 1 : -1])

        return te.compute(tuple(dims), read, name="unfold")

    return _emit.emit_te(importer, compute, x, out, hint="unfold")


def as_strided(importer: Any, node: Any, previous: Any) -> Any:
    x, size, stride, offset = _emit.arguments(
        importer, node, "self", "size", "stride", "storage_offset", storage_offset=0
    )
    expected = [_emit.extent(size[axis + 1 :]) for axis in range(len(size))]
    same = all(
        _compat.as_int(dim) == 1 or _compat.prim_equal(_emit.int64(a), _emit.int64(b))
        for dim, a, b in zip(size, stride, expected, strict=True)
    )
    if same and _compat.as_int(offset or 0) == 0:
        return previous(node)
    value = getattr(node.args[0], "meta", {}).get("val")
    if value is None or not value.is_contiguous():
        raise _emit.refuse(
            node, "strides over a tensor that is not contiguous", "Use unfold, or index"
        )
    flat = indexing.flatten(importer, x)

    def compute(data: Any, dims: Any, steps: Any, first: Any) -> Any:
        def read(*at: Any) -> Any:
            position = first
            for i, s in zip(at, steps, strict=True):
                position = position + i * s
            return data(position)

        return te.compute(tuple(dims), read, name="as_strided")

    first = _emit.int64(offset or 0)
    return _emit.emit_te(importer, compute, flat, list(size), list(stride), first, hint="strided")


FIX = Fix(
    id="unfold",
    what="unfold is missing; as_strided with symbolic strides reads the wrong elements",
    op="aten.unfold, aten.as_strided",
    affected="",
    converters={"unfold.default": unfold, "as_strided.default": as_strided},
    probe=_probe.lacks("unfold.default"),
)
