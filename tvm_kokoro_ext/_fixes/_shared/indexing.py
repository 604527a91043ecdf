"""The semantics of advanced indexing in torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import relax, te, tirx


@dataclass(frozen=True)
class IndexGrid:
    """The shape of `x[indices]`, and the correspondence of its axes to those of `x`.

    `shape` is the shape of the result. The broadcast index tensors occupy `rank` axes from `start`
    on. An axis `a` of `x` that is not indexed is result axis `kept[a]`.
    """

    shape: list[Any]
    start: int
    rank: int
    kept: dict[int, int]


def index_grid(shape: list[Any], indexed: list[int], broadcast: list[Any]) -> IndexGrid:
    """Place the broadcast index shape: in place if the indexed axes are adjacent, else first."""
    adjacent = indexed == list(range(indexed[0], indexed[-1] + 1))
    start = indexed[0] if adjacent else 0
    rest = [axis for axis in range(len(shape)) if axis not in indexed]
    before = [axis for axis in rest if axis < start] if adjacent else []
    after = [axis for axis in rest if axis not in before]
    kept = {axis: position for position, axis in enumerate(before)}
    kept |= {axis: start + len(broadcast) + i for i, axis in enumerate(after)}
    dims = [shape[a] for a in before] + broadcast + [shape[a] for a in after]
    return IndexGrid(dims, start, len(broadcast), kept)


def broadcast_shapes(shapes: list[list[Any]]) -> list[Any]:
    """The shape that these broadcast to; symbolic dimensions are assumed to agree."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Any] = []
    for position in range(-rank, 0):
        dims = [shape[position] for shape in shapes if len(shape) >= -position]
        result.append(next((dim for dim in dims if _compat.as_int(dim) != 1), 1))
    return result


def wrapped(index: Any, dim: Any) -> Any:
    """An index expression where negative values count from the end.

    LLVM moves a choice without branches out of a loop in which the index does not change.
    """
    index = tirx.Cast("int64", index)
    return tirx.Select(index < 0, index + dim, index)


def read(tensor: Any, position: list[Any]) -> Any:
    """The element at this position of a TE tensor that is broadcast to a grid."""
    own = position[len(position) - len(tensor.shape) :]
    return tensor[
        tuple(0 if _compat.as_int(d) == 1 else i for d, i in zip(tensor.shape, own, strict=True))
    ]


def source_positions(
    shape: list[Any], grid: IndexGrid, indices: dict[int, Any], position: list[Any]
) -> list[Any]:
    """The index of the element of `x` for grid position `position`, one expression per axis.

    The index tensors hold places that are counted from the start (see `counted_from_start`).
    """
    inner = position[grid.start : grid.start + grid.rank]
    return [
        read(indices[axis], inner) if axis in indices else position[grid.kept[axis]]
        for axis in range(len(shape))
    ]


def counted_from_start(data: Any, by_axis: dict[int, Any], apart: bool) -> dict[int, Any]:
    """The index tensors with their places counted from the start.

    Where each place is read for many elements, `apart`, it is computed once, before them.
    """

    def places(axis: int, index: Any) -> Any:
        dim = data.shape[axis]
        if not apart:
            return _Wrapped(index, dim)
        return te.compute(index.shape, lambda *at: wrapped(index(*at), dim), name="places")

    return {axis: places(axis, index) for axis, index in by_axis.items()}


@dataclass(frozen=True)
class _Wrapped:
    """A tensor of indices, whose elements are wrapped where they are read."""

    tensor: Any
    dim: Any

    @property
    def shape(self) -> Any:
        return self.tensor.shape

    def __getitem__(self, at: Any) -> Any:
        return wrapped(self.tensor[at], self.dim)


def gather(importer: Any, x: Any, indices: list[Any], hint: str) -> Any:
    """`x[indices]` for integer index tensors, where None selects a whole axis."""
    shape = _compat.shape_of(x)
    indexed = [axis for axis, index in enumerate(indices) if index is not None]
    tensors = [indices[axis] for axis in indexed]
    grid = index_grid(shape, indexed, broadcast_shapes([_compat.shape_of(t) for t in tensors]))
    # The last axis is the innermost loop, in which other indices do not change.
    apart = grid.rank > 0 and 0 < grid.start == len(grid.shape) - grid.rank

    def compute(data: Any, out: Any, *index: Any) -> Any:
        by_axis = counted_from_start(data, dict(zip(indexed, index, strict=True)), apart)
        dims = list(data.shape)
        return te.compute(
            tuple(out),
            lambda *at: data(*source_positions(dims, grid, by_axis, list(at))),
            name=hint,
        )

    return _emit.emit_te(importer, compute, x, grid.shape, *tensors, hint=hint)


def flat_positions(importer: Any, x: Any, indices: list[Any]) -> tuple[Any, list[Any]]:
    """Offsets into the flattened `x` of all elements of `x[indices]`, and the shape of the grid."""
    shape = _compat.shape_of(x)
    indexed = [axis for axis, index in enumerate(indices) if index is not None]
    tensors = [indices[axis] for axis in indexed]
    grid = index_grid(shape, indexed, broadcast_shapes([_compat.shape_of(t) for t in tensors]))

    def compute(data: Any, out: Any, *index: Any) -> Any:
        by_axis = counted_from_start(data, dict(zip(indexed, index, strict=True)), False)
        dims = list(data.shape)

        def offset(*at: Any) -> Any:
            total: Any = tirx.const(0, "int64")
            for dim, i in zip(dims, source_positions(dims, grid, by_axis, list(at)), strict=True):
                total = total * dim + i
            return total

        return te.compute(tuple(out), offset, name="flat_positions")

    positions = _emit.emit_te(importer, compute, x, grid.shape, *tensors, hint="flat_positions")
    return positions, grid.shape


def flatten(importer: Any, tensor: Any) -> Any:
    """The tensor as a vector."""
    size = _emit.extent(_compat.shape_of(tensor))
    return _emit.emit(importer, relax.op.reshape(tensor, [size]))
