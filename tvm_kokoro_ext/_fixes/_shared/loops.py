"""Kernels with serial loops, for operations that are neither reductions nor elementwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import IRBuilder, T, relax, te, tirx


def emit(
    importer: Any,
    body: Callable[..., None],
    outputs: Sequence[tuple[Sequence[Any], str]],
    *args: Any,
    hint: str,
) -> list[Any]:
    """Emit one kernel and return its outputs, one tensor for each (shape, dtype).

    `body` is called in a TIR builder. Its arguments are the dimensions of the outputs as they are
    in the kernel (a list for each output), the outputs and the tensors of `args` as flat buffers,
    and then the rest of `args`, with scalars as expressions.
    """
    tensors = [a for a in args if _compat.is_tensor(a)]
    scalars = [_emit.int64(a) for a in args if not _compat.is_tensor(a)]
    shapes = [[_emit.int64(dim) for dim in shape] for shape, _ in outputs]
    dtypes = [dtype for _, dtype in outputs]

    def compute(dims: Any, *given: Any) -> list[Any]:
        data, rest = given[: len(tensors)], given[len(tensors) :]
        own, position = [], 0
        for shape in shapes:
            own.append(list(dims[position : position + len(shape)]))
            position += len(shape)

        def build(inputs: Any, results: Any) -> Any:
            buffers = [T.buffer_proxy(buffer) for buffer in (*results, *inputs)]
            with IRBuilder() as ib:
                with T.seq_scope():
                    body(own, *buffers, *rest)
                return ib.get()

        made = te.extern(
            [tuple(s) or (1,) for s in own], list(data), build, dtype=dtypes, name=hint
        )
        return list(made) if len(dtypes) > 1 else [made]

    flat = [dim for shape in shapes for dim in shape]
    result = _emit.emit_te(importer, compute, flat, *tensors, *scalars, hint=hint)
    if len(dtypes) == 1:
        return [result]
    return [_emit.emit(importer, relax.TupleGetItem(result, i)) for i in range(len(dtypes))]


def flat(position: Sequence[Any], shape: Sequence[Any]) -> Any:
    """The offset of a position in a row-major array."""
    offset: Any = tirx.const(0, "int64")
    for place, dim in zip(position, shape, strict=True):
        offset = offset * dim + place
    return offset


@contextmanager
def grid(*extents: Any) -> Iterator[list[Any]]:
    """Nested serial loops; yields the list of their variables."""
    with T.grid(*extents) as variables:
        yield [variables] if _compat.is_prim(variables) else list(variables)
