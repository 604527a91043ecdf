"""unfold, as_strided and as_strided_scatter (`fill_diagonal_`), on constant and symbolic axes."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _checks, _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax, te, tirx
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
        importer, node, "self", "size", "stride", "storage_offset"
    )
    first = _start(importer, node, x, size, stride, offset)
    expected = [_emit.extent(size[axis + 1 :]) for axis in range(len(size))]
    same = all(
        _compat.as_int(dim) == 1 or _compat.prim_equal(_emit.int64(a), _emit.int64(b))
        for dim, a, b in zip(size, stride, expected, strict=True)
    )
    if same and _compat.as_int(first) == 0 and _holds_all(x, size):
        return previous(node)
    flat = indexing.flatten(importer, x)

    def compute(data: Any, dims: Any, steps: Any, first: Any) -> Any:
        def read(*at: Any) -> Any:
            return data(_position(at, steps, first))

        return te.compute(tuple(dims), read, name="as_strided")

    return _emit.emit_te(importer, compute, flat, list(size), list(stride), first, hint="strided")


def as_strided_scatter(importer: Any, node: Any, previous: Any) -> Any:
    x, source, size, stride, offset = _emit.arguments(
        importer, node, "self", "src", "size", "stride", "storage_offset"
    )
    first = _start(importer, node, x, size, stride, offset)

    def compute(dims: Any, steps: Any, first: Any) -> Any:
        def place(*at: Any) -> Any:
            return tirx.Cast("int64", _position(at, steps, first))

        return te.compute(tuple(dims), place, name="places")

    places = _emit.emit_te(importer, compute, list(size), list(stride), first, hint="places")
    flat = [indexing.flatten(importer, part) for part in (x, places, source)]
    scattered = _emit.emit(importer, relax.op.scatter_elements(*flat))
    return _emit.emit(importer, relax.op.reshape(scattered, _compat.shape_of(x)))


def _position(at: Any, steps: Any, first: Any) -> Any:
    for i, step in zip(at, steps, strict=True):
        first = first + i * step
    return first


def _start(importer: Any, node: Any, x: Any, size: Any, stride: Any, offset: Any) -> Any:
    """The first place in the flat tensor, which holds all that the strides lead to."""
    value = getattr(node.args[0], "meta", {}).get("val")
    if value is None or not value.is_contiguous():
        raise _emit.refuse(
            node, "strides over a tensor that is not contiguous", "Use unfold, or index"
        )
    start = value.storage_offset()
    if offset is not None and not (isinstance(start, int) and start == 0):
        raise _emit.refuse(
            node, "an offset into the memory that a tensor is a view of", "Use unfold, or index"
        )
    first = _emit.int64(0 if offset is None else offset)
    _require_inside(importer, node, x, size, stride, first)
    return first


def _holds_all(x: Any, size: Any) -> bool:
    """Whether the result has as many elements as the tensor, so that it is a reshape of it."""
    counts = (_emit.int64(_emit.extent(shape)) for shape in (size, _compat.shape_of(x)))
    return _compat.prim_equal(*counts)


def _require_inside(importer: Any, node: Any, x: Any, size: Any, stride: Any, first: Any) -> None:
    """What is read has to be of the tensor itself; in torch it may be of what it is a view of."""
    count = _emit.int64(_emit.extent(_compat.shape_of(x)))
    last = first
    for dim, step in zip(size, stride, strict=True):
        last = last + (dim - 1) * step
    inside = [first >= 0, last < count, *(_emit.int64(step) >= 0 for step in stride)]
    is_empty = [_emit.int64(dim) <= 0 for dim in size]
    if all(_compat.as_int(number) is not None for number in (first, last, count, *size, *stride)):
        analyzer = _compat.analyzer_of_sizes()
        if not analyzer.can_prove(tirx.any(tirx.all(*inside), *is_empty)):
            raise _emit.refuse(
                node, "elements of the memory that a tensor is a view of", "Index that tensor"
            )
        return
    _checks.require(importer, tirx.any(tirx.all(*inside), *is_empty))


FIX = Fix(
    id="unfold",
    what="unfold is missing; as_strided with symbolic strides reads the wrong elements",
    op="aten.unfold, aten.as_strided, aten.as_strided_scatter",
    affected="",
    converters={
        "unfold.default": unfold,
        "as_strided.default": as_strided,
        "as_strided_scatter.default": as_strided_scatter,
    },
    probe=_probe.lacks("unfold.default", "as_strided_scatter.default"),
)
