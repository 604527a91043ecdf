"""linalg.inv and linalg.det of small matrices, by elimination with pivoting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import T, relax, tirx
from tvm_kokoro_ext._fix import Converter, Fix
from tvm_kokoro_ext._fixes._shared import loops


def _raise_pivot(work: Any, base: Any, n: Any, width: Any, column: Any, scratch: Any) -> None:
    """Swap the row with the largest element of `column` to the diagonal.

    `work` holds rows of `width` elements from `base` on; `scratch` [2] receives the index of the
    swapped row and temporarily an element.
    """
    place, held = scratch
    place[0] = column
    with T.serial(0, n - column - 1) as i:
        row = column + 1 + i
        best = tirx.abs(work[base + place[0] * width + column])
        with T.If(tirx.abs(work[base + row * width + column]) > best), T.Then():
            place[0] = row
    with T.If(place[0] != column), T.Then(), T.serial(0, width) as j:
        upper, lower = base + column * width + j, base + place[0] * width + j
        held[0] = work[upper]
        work[upper] = work[lower]
        work[lower] = held[0]


def _square(importer: Any, node: Any) -> tuple[Any, list[Any], str, Any]:
    """The matrices, the shape of their batch, their dtype and size."""
    x = importer.retrieve_args(node)[0]
    *batch, _, n = _compat.shape_of(x)
    return x, batch, _compat.dtype_of(x), n


def _inverse(importer: Any, node: Any) -> Any:
    """Gauss-Jordan elimination of [x | 1]; exactly singular matrices give infinities or NaN."""
    x, batch, dtype, n = _square(importer, node)

    def body(dims: Any, out: Any, work: Any, place: Any, held: Any, data: Any) -> None:
        size = dims[0][-1]
        width, one = size * 2, tirx.const(1, dtype)
        with T.serial(0, _emit.extent(dims[0][:-2])) as matrix:
            base = matrix * size * width
            with loops.grid(size, size) as (i, j):
                work[base + i * width + j] = data[(matrix * size + i) * size + j]
                work[base + i * width + size + j] = tirx.if_then_else(
                    i == j, one, tirx.const(0, dtype)
                )
            with T.serial(0, size) as column:
                _raise_pivot(work, base, size, width, column, (place, held))
                held[0] = one / work[base + column * width + column]
                with T.serial(0, width) as j:
                    work[base + column * width + j] = work[base + column * width + j] * held[0]
                with T.serial(0, size) as i, T.If(i != column), T.Then():
                    held[0] = work[base + i * width + column]
                    with T.serial(0, width) as j:
                        at = base + i * width + j
                        work[at] = work[at] - held[0] * work[base + column * width + j]
            with loops.grid(size, size) as (i, j):
                out[(matrix * size + i) * size + j] = work[base + i * width + size + j]

    shape = [*batch, n, n]
    results = [(shape, dtype), ([*batch, n, 2 * n], dtype), ([1], "int64"), ([1], dtype)]
    return loops.emit(importer, body, results, x, hint="inverse")[0]


def _determinant(importer: Any, node: Any) -> Any:
    x, batch, dtype, n = _square(importer, node)

    def body(dims: Any, out: Any, work: Any, place: Any, held: Any, data: Any) -> None:
        size, zero = dims[1][-1], tirx.const(0, dtype)
        with T.serial(0, _emit.extent(dims[1][:-2])) as matrix:
            base = matrix * size * size
            out[matrix] = tirx.const(1, dtype)
            with T.serial(0, size * size) as i:
                work[base + i] = data[base + i]
            with T.serial(0, size) as column:
                _raise_pivot(work, base, size, size, column, (place, held))
                with T.If(place[0] != column), T.Then():
                    out[matrix] = -out[matrix]
                diagonal = work[base + column * size + column]
                out[matrix] = out[matrix] * diagonal
                rest = tirx.if_then_else(diagonal != zero, size - column - 1, 0)
                with T.serial(0, rest) as i:
                    row = base + (column + 1 + i) * size
                    held[0] = work[row + column] / diagonal
                    with T.serial(0, size) as j:
                        work[row + j] = work[row + j] - held[0] * work[base + column * size + j]

    results = [(batch, dtype), ([*batch, n, n], dtype), ([1], "int64"), ([1], dtype)]
    found = loops.emit(importer, body, results, x, hint="determinant")[0]
    return found if batch else _emit.emit(importer, relax.op.reshape(found, []))


def _only_first(compute: Callable[[Any, Any], Any], others: int) -> Converter:
    """Return the result as the first element of a tuple; reading other elements is rejected."""

    def convert(importer: Any, node: Any, previous: Any) -> Any:
        if not others:
            return compute(importer, node)
        reads = [user for user in node.users if user.args[1] != 0]
        if any(user.users for user in reads):
            raise _emit.refuse(node, "its second result", "Use linalg.inv or linalg.det alone")
        first = compute(importer, node)
        return _emit.emit(importer, relax.Tuple([first] * (others + 1)))

    return convert


_CONVERTERS: dict[str, Converter] = {
    "linalg_inv.default": _only_first(_inverse, 0),
    "inverse.default": _only_first(_inverse, 0),
    "linalg_det.default": _only_first(_determinant, 0),
    "det.default": _only_first(_determinant, 0),
    "_linalg_det.default": _only_first(_determinant, 2),
}

FIX = Fix(
    id="matrix",
    what="linalg.inv and linalg.det are missing",
    op="aten.linalg_inv, aten.linalg_det",
    affected="",
    converters=_CONVERTERS,
    probe=_probe.lacks(*_CONVERTERS),
)
