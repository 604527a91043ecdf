"""diagonal, and with it diag, trace and einsum("ii->i"), which TVM has from 0.27 on."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import te, tirx
from tvm_kokoro_ext._fix import Fix


def diagonal(importer: Any, node: Any, previous: Any) -> Any:
    """The elements x[…, i, i + offset, …] along a new last axis."""
    x, offset, first, second = _emit.arguments(
        importer, node, "self", "offset", "dim1", "dim2", offset=0, dim1=0, dim2=1
    )
    shape = _compat.shape_of(x)
    first, second = (_emit.normalize_axis(axis, len(shape)) for axis in (first, second))
    rows, columns = max(-offset, 0), max(offset, 0)
    length = _length(shape[first] - rows, shape[second] - columns)
    kept = [axis for axis in range(len(shape)) if axis not in (first, second)]
    out = [*(shape[axis] for axis in kept), length]

    def compute(data: Any, dims: Any) -> Any:
        def read(*at: Any) -> Any:
            position = dict(zip(kept, at[:-1], strict=True))
            position |= {first: at[-1] + rows, second: at[-1] + columns}
            return data(*(position[axis] for axis in range(len(shape))))

        return te.compute(tuple(dims), read, name="diagonal")

    return _emit.emit_te(importer, compute, x, out, hint="diagonal")


def _length(rows: Any, columns: Any) -> Any:
    """The smaller of two extents, but at least 0."""
    if isinstance(rows, int) and isinstance(columns, int):
        return max(min(rows, columns), 0)
    rows, columns = _emit.int64(rows), _emit.int64(columns)
    if _compat.prim_equal(rows, columns):
        return rows
    return tirx.max(tirx.min(rows, columns), tirx.const(0, "int64"))


FIX = Fix(
    id="diagonal",
    what="diagonal, diag and trace are missing",
    op="aten.diagonal",
    affected="<0.27",
    converters={"diagonal.default": diagonal},
    probe=_probe.lacks("diagonal.default"),
)
