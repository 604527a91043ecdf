"""repeat by a symbolic count, split into symbolic sizes, and arange with a negative step."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat, _emit, _probe, _symbolic
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix, needs_previous
from tvm_kokoro_ext._fixes._shared import ranges, scalars


def _are_numbers(values: Any) -> bool:
    return all(_compat.as_int(value) is not None for value in values)


@needs_previous
def repeat(importer: Any, node: Any, previous: Any) -> Any:
    x, *counts = importer.retrieve_args(node)
    if len(counts) == 1 and isinstance(counts[0], list | tuple):
        counts = list(counts[0])
    if _are_numbers(counts):
        return previous(node)
    counts = [_emit.int64(_compat.prim(count)) for count in counts]
    shape = _compat.shape_of(x)
    new = len(counts) - len(shape)
    sizes = [*counts[:new], *(c * dim for c, dim in zip(counts[new:], shape, strict=True))]

    def compute(data: Any, sizes: Any) -> Any:
        def element(*at: Any) -> Any:
            places = zip(at[new:], data.shape, strict=True)
            return data(*(tirx.floormod(i, dim) for i, dim in places))

        return te.compute(tuple(sizes), element, name="repeat")

    return _emit.emit_te(importer, compute, x, sizes, hint="repeat")


@needs_previous
def split_with_sizes(importer: Any, node: Any, previous: Any) -> Any:
    x, sizes, axis = _emit.arguments(importer, node, "self", "split_sizes", "dim", dim=0)
    if _are_numbers(sizes) and 0 not in map(_compat.as_int, sizes):
        return previous(node)
    axis = _emit.normalize_axis(axis, _compat.rank_of(x))
    start: Any = tirx.IntImm("int64", 0)
    parts = []
    for size in (_emit.int64(_compat.prim(size)) for size in sizes):
        parts.append(_emit.emit_te(importer, _part(axis), x, size, start, hint="split"))
        start = start + size
    return _emit.emit(importer, relax.Tuple(parts))


def _part(axis: int) -> Any:
    def compute(data: Any, size: Any, start: Any) -> Any:
        shape = [size if i == axis else dim for i, dim in enumerate(data.shape)]

        def element(*at: Any) -> Any:
            return data(*(i + start if a == axis else i for a, i in enumerate(at)))

        return te.compute(tuple(shape), element, name="split")

    return compute


@needs_previous
def arange(importer: Any, node: Any, previous: Any) -> Any:
    """An arange of symbolic length downwards, by a symbolic step, or of operands that are floats.

    Stock computes a wrong length if the step is negative, rounding away from zero; divides by a
    step of 0, which ends the process before any check; and where an operand is a float, computes a
    length in floating point, with which the compiler cannot reason, and in float32. It finds the
    dtype by the operands that are Python's numbers, and not by symbolic ones, and fails for a
    number that the dtype does not hold, which torch takes modulo its range. Floats it adds up from
    a first step that is rounded in their dtype: the last of 256 from -9 to 9 is off by 60 ulp.
    """
    names = ("end",) if node.target.__name__ == "arange.default" else ("start", "end", "step")
    given = _emit.arguments(importer, node, *names, start=0, step=1)
    given = given if len(given) == 3 else [0, *given, 1]
    first, last, step = (_compat.prim(value) for value in given)
    dtype, shape = _emit.result_dtype(importer, node), _symbolic.proved_shape(importer, node)
    if dtype is None:
        return previous(node)
    floats = any(map(scalars.is_float, (first, last, step)))
    counted = "float64" if "float" in dtype else "int64"
    exact = counted == "float64" or all(_holds(dtype, value) for value in (first, last, step))
    if shape is None and floats and counted == "float64":
        length = (scalars.float64(last) - scalars.float64(first)) / scalars.float64(step)
        shape = [tirx.Cast("int64", tirx.ceil(length))]  # what torch computes, in float64
    elif shape is None or (isinstance(step, int | float) and step > 0 and exact and not floats):
        return previous(node)
    if counted == "int64":  # torch drops the fractions of the operands first
        first, step = (int(v) if isinstance(v, float) else v for v in (first, step))
    if counted == "int64" and any(
        _compat.is_prim(value) and scalars.is_float(value) for value in (first, step)
    ):
        return previous(node)

    def compute(size: Any, first: Any, step: Any) -> Any:
        def element(i: Any) -> Any:
            at = tirx.Cast(counted, first) + tirx.Cast(counted, i) * tirx.Cast(counted, step)
            return tirx.Cast(dtype, at)

        return te.compute((size,), element, name="arange")

    operands = [tirx.const(v, "float64") if isinstance(v, float) else v for v in (first, step)]
    return _emit.emit_te(
        importer, compute, _emit.int64(shape[0]), *map(_emit.int64, operands), hint="arange"
    )


def _holds(dtype: str, value: Any) -> bool:
    """Whether a number is one of an integer dtype; what is symbolic is taken for one."""
    if not isinstance(value, int | float):
        return True
    limits = np.iinfo(dtype)
    return value == int(value) and limits.min <= value <= limits.max


@_probe.wrong
def _still_wrong() -> bool:
    x, count = _probe.Input((2, 3)), _probe.Symbol("n")
    _probe.convert("repeat.default", x, [1, count], out=((2, "n"), "float32"))
    return ranges.rounds_steps()


FIX = Fix(
    id="symbolic_shapes",
    what="repeat and split by symbolic sizes, arange downwards fail; arange rounds its steps",
    op="aten.repeat, aten.split_with_sizes, aten.arange",
    affected="",
    converters={
        "repeat.default": repeat,
        "split_with_sizes.default": split_with_sizes,
        **dict.fromkeys(("arange.default", "arange.start", "arange.start_step"), arange),
    },
    probe=_still_wrong,
)
