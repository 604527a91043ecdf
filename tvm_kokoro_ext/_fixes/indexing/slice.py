"""Slices whose extent depends on a symbolic size.

For `x[:, :n]`, the extent of stock's strided_slice is min(n, 512) even if torch has proved
n <= 512, and later operators cannot prove that it is n. Here the result has the extent proved by
torch, and what torch assumed for that is checked when the program runs.

Bounds that are read from tensors may be negative, which stock's strided_slice does not count from
the end: its extent becomes huge, or it reads outside of the tensor.
"""

from __future__ import annotations

import sys
from typing import Any

from tvm_kokoro_ext import _checks, _compat, _emit, _probe, _symbolic
from tvm_kokoro_ext._compat import te, tirx
from tvm_kokoro_ext._fix import Fix


def slice_tensor(importer: Any, node: Any, previous: Any) -> Any:
    x, axis, start, end, step = _emit.arguments(
        importer, node, "self", "dim", "start", "end", "step", dim=0, step=1
    )
    shape = _compat.shape_of(x)
    if axis < 0:  # TVM's kernel for symbolic shapes does not support negative axes
        axis = _emit.normalize_axis(axis, len(shape))
        node = _emit.view(node, node.args[0], axis, start, end, step)
    step = _compat.prim(step)
    every = isinstance(step, int) and step == 1
    if not isinstance(step, int):
        _checks.require(importer, step >= 1)
    given = [_compat.as_int(bound) for bound in (start, end, step) if bound is not None]
    bounds = [bound for bound in given if bound is not None]
    if isinstance(shape[axis], int) and len(bounds) == len(given):  # everything is constant here
        if min(bounds, default=0) >= 0 or all(isinstance(dim, int) for dim in shape):
            return previous(node)
        # With another symbolic axis, 0.25 reads before the tensor for a negative start.
        first, last = (_counted(bound, shape[axis]) for bound in (start, end))
        return previous(_emit.view(node, node.args[0], axis, first, last, step))
    from_start = start is None or _compat.as_int(start) == 0
    to_end = end is None or _compat.as_int(end) == sys.maxsize
    if from_start and to_end and every:
        return x
    proved = _symbolic.proved_shape(importer, node)
    first = _from_front(0 if start is None else _compat.prim(start), _emit.int64(shape[axis]))
    if proved is None:
        recorded = getattr(node.meta.get("val"), "shape", None)
        if recorded is None or not _symbolic.is_read_from_data(recorded[axis]):
            return previous(node)
        last = shape[axis] if to_end else _from_front(_compat.prim(end), _emit.int64(shape[axis]))
        shape[axis] = _extent(importer, node, first, _emit.int64(last), step)
        return _cut(importer, x, axis, first, step, shape)
    if from_start and every and _compat.prim_equal(proved[axis], shape[axis]):
        return x
    last = _emit.int64(first + (proved[axis] - 1) * step)
    # Torch records n - 1 for x[1:], which is no size where there are no elements.
    _checks.require(importer, _emit.int64(proved[axis]) >= 0, last < _emit.int64(shape[axis]))
    shape[axis] = proved[axis]
    return _cut(importer, x, axis, first, step, shape)


def _cut(importer: Any, x: Any, axis: int, first: Any, step: Any, shape: list[Any]) -> Any:
    """The elements along an axis from the first on, as many as the shape has."""

    def compute(data: Any, first: Any, step: Any, out: Any) -> Any:
        def read(*at: Any) -> Any:
            return data(*at[:axis], first + at[axis] * step, *at[axis + 1 :])

        return te.compute(tuple(out), read, name="slice")

    bounds = _emit.int64(first), _emit.int64(step)
    return _emit.emit_te(importer, compute, x, *bounds, shape, hint="slice")


def _extent(importer: Any, node: Any, first: Any, last: Any, step: Any) -> Any:
    """The number of elements between data-dependent bounds, as a variable.

    A kernel computes it: TVM takes what is read from a tensor for a size, which is not negative,
    and simplifies an extent accordingly.
    """

    def compute(start: Any, end: Any, step: Any) -> Any:
        rows = tirx.max(end - start, tirx.const(0, "int64"))
        return te.compute((1,), lambda _: tirx.floordiv(rows + (step - 1), step))

    count = _emit.emit_te(importer, compute, first, last, _emit.int64(step), hint="extent")
    return _emit.dimension(importer, count, f"{node.name}_size")


def _counted(bound: Any, size: int) -> int | None:
    """Convert a constant bound to a nonnegative one; None is unchanged."""
    constant = None if bound is None else _compat.as_int(bound)
    return max(constant + size, 0) if constant is not None and constant < 0 else constant


def slice_scatter(importer: Any, node: Any, previous: Any) -> Any:
    """Replace bounds that are None, which stock does not support, by the ends of the axis.

    Nothing is written from an empty source, whose bounds stock rejects if they are crossed.
    """
    x, source, axis, start, end, step = _emit.arguments(
        importer, node, "self", "src", "dim", "start", "end", "step", dim=0, step=1
    )
    if 0 in _compat.shape_of(source):
        return x
    if start is not None and end is not None and axis >= 0:
        return previous(node)
    axis = _emit.normalize_axis(axis, _compat.rank_of(x))
    start = 0 if start is None else start
    end = sys.maxsize if end is None else end
    return previous(_emit.view(node, x, source, axis, start, end, step))


def _from_front(start: Any, dim: Any) -> Any:
    """The start counted from the front and limited to the axis, as in torch."""
    if isinstance(start, int):
        return start if start >= 0 else tirx.max(dim + start, tirx.const(0, "int64"))
    counted = tirx.if_then_else(start < 0, start + dim, start)
    return tirx.max(tirx.min(counted, dim), tirx.const(0, "int64"))


@_probe.wrong
def _still_wrong() -> bool:
    """Whether stock's extent is min(n, 512) where torch has proved n."""
    x = _probe.Input((1, 512), "int64")
    cut = _probe.convert("slice.Tensor", x, 1, 0, _probe.Symbol("n"), out=((1, "n"), "int64"))
    if cut.shape is None:
        return True
    # An importer that reads torch's record finds the example's size there in a probe.
    return not (_compat.is_var(cut.shape[1]) or _compat.as_int(cut.shape[1]) == _probe.EXAMPLE)


@_probe.wrong
def _empty_source_fails() -> bool:
    x, nothing = _probe.Input((4, 3)), _probe.Input((0, 3))
    _probe.convert("slice_scatter.default", x, nothing, 0, 3, 1, out=((4, 3), "float32"))
    return False


FIX = Fix(
    id="slice",
    what="x[:, :n] has the extent min(n, 512) where torch proved n; bounds read from tensors are "
    "not counted from the end",
    op="aten.slice",
    affected="",
    converters={"slice.Tensor": slice_tensor, "slice_scatter.default": slice_scatter},
    probe=_probe.any_of(_still_wrong, _empty_source_fails),
)
