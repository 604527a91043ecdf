"""Sums, running sums and normalizations of many float32 numbers keep their digits on a CPU.

Stock adds one number after the other to one sum, which rounds more the larger it gets: the mean of
an image of 1024 × 1024 pixels around 100 is wrong by 1 percent, and its variance by a factor of 13.
Here several sums are formed side by side in float64, which is faster than one in float32, too.
Running sums and products are formed in float64, as in PyTorch.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat, _emit, _probe, _replace
from tvm_kokoro_ext._compat import relax, te, tirx, topi, tvm
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import extremum, in_vectors
from tvm_kokoro_ext._fixes._shared.legalization import Override, overriding
from tvm_kokoro_ext._fixes._shared.sums import MANY, is_for_cpu, side_by_side
from tvm_kokoro_ext._fixes._shared.two_pass import two_pass
from tvm_kokoro_ext._fixes.reductions._running import running

_FEW_STEPS = 512
_MANY_ROWS = 64  # LLVM unrolls stock's sums of as many rows, and makes vectors of columns
_MANY_PLACES = 96  # neighbours that are added faster side by side than one after the other
_ROW = 8  # numbers of a row that is added to another in vectors

_Read = Callable[[Sequence[Any]], Any]


def _total(read: _Read, shape: Sequence[Any], axes: Sequence[int], name: str) -> Any:
    """The sum of `read(place)` over `axes`, which have size 1 in this TE tensor of float32."""
    return _summed(read, shape, axes, name, lambda total: total)


def _mean(read: _Read, shape: Sequence[Any], axes: Sequence[int], name: str) -> Any:
    return _summed(read, shape, axes, name, _divided(shape, axes))


def _divided(shape: Sequence[Any], axes: Sequence[int]) -> Callable[[Any], Any]:
    count = tirx.Cast("float64", _emit.int64(_emit.extent([shape[axis] for axis in axes])))
    return lambda total: total / count


def _summed(
    read: _Read, shape: Sequence[Any], axes: Sequence[int], name: str, finish: Callable[[Any], Any]
) -> Any:
    """`finish` of each sum, which has several parts in float64: as exact as blocks, and faster."""
    total = side_by_side(
        lambda *at: tirx.Cast("float64", read(at)), shape, list(axes), kind="float64"
    )
    kept = [1 if axis in axes else size for axis, size in enumerate(shape)]
    return te.compute(tuple(kept), lambda *at: tirx.Cast("float32", finish(total(at))), name=name)


def _variance(read: _Read, shape: Sequence[Any], axes: Sequence[int], name: str) -> Any:
    mean = _mean(read, shape, axes, "mean")

    def square(at: Sequence[Any]) -> Any:
        centred = read(at) - mean(*[0 if axis in axes else i for axis, i in enumerate(at)])
        return centred * centred

    return _mean(square, shape, axes, name)


def _deviation(read: _Read, shape: Sequence[Any], axes: Sequence[int], name: str) -> Any:
    return topi.sqrt(_variance(read, shape, axes, "variance"))


def _total_of_rows(x: Any, axes: Sequence[int], keep: bool) -> Any:
    return in_vectors.reduced(x, axes, in_vectors.Sum(lambda total: total), keep)


def _mean_of_rows(x: Any, axes: Sequence[int], keep: bool) -> Any:
    return in_vectors.reduced(x, axes, in_vectors.Sum(_divided(x.shape, axes)), keep)


def _reduction(
    compute: Callable[..., Any], name: str, of_rows: Callable[..., Any] | None = None
) -> Override:
    """The legalization by `compute(read, shape, axes, name)`.

    Along axes in front of a long last one it is `of_rows(x, axes, keep)`, which reads whole rows,
    where stock's and `compute` read a number of each row for one sum after the other.
    """

    def legalize(below: Any, builder: Any, call: Any) -> Any:
        x, given, keep = call.args[0], call.attrs.axis, bool(call.attrs.keepdims)
        rank = _compat.rank_of(x)
        axes = sorted(
            _emit.normalize_axis(int(axis), rank)
            for axis in (range(rank) if given is None else given)
        )
        rows = of_rows if _are_rows(_compat.shape_of(x), axes) else None
        if rows is not None:
            few = _MANY_ROWS
        else:
            few = _MANY_PLACES if axes and axes[-1] == rank - 1 else MANY
        if not _sums_many(x, axes, few):
            return below(builder, call)

        def reduced(data: Any) -> Any:
            if rows is not None:
                return rows(data, axes, keep)
            made = compute(lambda at: data(*at), data.shape, axes, name)
            return made if keep else topi.squeeze(made, axes)

        return builder.call_te(reduced, x, primfunc_name_hint=name)

    return legalize


def _layer_norm(below: Any, builder: Any, call: Any) -> Any:
    """Sums side by side, which CPUs also add faster, and a mean that is corrected."""
    x, *_ = call.args
    if not is_for_cpu():
        return below(builder, call)
    rank = _compat.rank_of(x)
    axes = [_emit.normalize_axis(int(axis), rank) for axis in call.attrs.axes]

    def layer_norm(x: Any, gamma: Any, beta: Any) -> Any:
        normalized = two_pass(x, axes, float(call.attrs.epsilon))

        def scaled(*at: Any) -> Any:
            place = [at[axis] for axis in axes]
            return normalized(*at) * gamma(*place) + beta(*place)

        return te.compute(x.shape, scaled, name="layer_norm")

    return builder.call_te(layer_norm, *call.args, primfunc_name_hint="layer_norm")


def _softmax(logarithm: bool) -> Override:
    def legalize(below: Any, builder: Any, call: Any) -> Any:
        x, rank = call.args[0], _compat.rank_of(call.args[0])
        axis = _emit.normalize_axis(int(call.attrs.axis), rank)
        if _compat.as_int(_compat.shape_of(x)[axis]) is None or not _sums_many(x, [axis]):
            return below(builder, call)

        def row(at: Sequence[Any]) -> list[Any]:
            return [*at[:axis], 0, *at[axis + 1 :]]

        def softmax(x: Any) -> Any:
            most = topi.max(x, axis=axis, keepdims=True)
            total = _total(
                lambda at: tirx.exp(x(*at) - most(*row(at))), x.shape, [axis], "exponentials"
            )

            def element(*at: Any) -> Any:
                centred = x(*at) - most(*row(at))
                if logarithm:
                    return centred - tirx.log(total(*row(at)))
                return tirx.exp(centred) / total(*row(at))

            return te.compute(x.shape, element, name="softmax")

        return builder.call_te(softmax, x, primfunc_name_hint="softmax")

    return legalize


def _sums_many(x: Any, axes: Sequence[int], few: int = MANY) -> bool:
    """Whether a CPU may sum more float32 numbers than `few`; GPUs have many sums at a time."""
    if _compat.dtype_of(x) != "float32" or not axes or not is_for_cpu():
        return False
    count = _compat.as_int(_emit.extent([_compat.shape_of(x)[axis] for axis in axes]))
    return count is None or count > few


def _are_rows(shape: Sequence[Any], axes: Sequence[int]) -> bool:
    """Whether adjacent axes are in front of rows that fill vectors, as far as that is known."""
    if not axes or list(axes) != list(range(axes[0], axes[-1] + 1)) or axes[-1] == len(shape) - 1:
        return False
    last = _compat.as_int(shape[-1])
    return last is None or last >= _ROW


def _running_in_float64(
    original: Callable[..., Any], neutral: int, step: Callable[[Any, Any], Any]
) -> Callable[..., Any]:
    """topi's cumsum or cumprod, which are those of CPUs, with steps that are not rounded."""

    @functools.wraps(original)
    def scan(data: Any, axis: Any = None, dtype: Any = None, exclusive: Any = None) -> Any:
        place = None if axis is None else _emit.normalize_axis(int(axis), len(data.shape))
        length = _emit.extent(list(data.shape)) if place is None else data.shape[place]
        number = _compat.as_int(length)
        if (
            str(data.dtype) != "float32"
            or dtype not in (None, "", "float32")
            or (number is not None and number <= _FEW_STEPS)
        ):
            return original(data, axis, dtype, exclusive)
        return running(data, place, neutral, step, bool(exclusive))

    return scan


def _install() -> Callable[[], None]:
    restore_reductions = _REDUCTIONS()
    restore_scans = _replace.in_place(
        {
            topi.scan.cumsum: functools.partial(_running_in_float64, neutral=0, step=operator.add),
            topi.scan.cumprod: functools.partial(_running_in_float64, neutral=1, step=operator.mul),
        }
    )

    def restore() -> None:
        restore_scans()
        restore_reductions()

    return restore


@_probe.wrong
def _scans_in_float32() -> bool:
    """Whether a running sum of many numbers is rounded at each step."""
    x = te.placeholder((2**12,), "float32", name="x")
    return "float64" not in str(te.create_prim_func([x, topi.cumsum(x, axis=0)]))


@_probe.wrong
def _loses_digits() -> bool:
    """Whether the sum of 2¹⁷ numbers is wrong by more than one in ten thousand."""
    numbers = np.full((1, 1, 2**17), 100.1, "float32")
    with tvm.target.Target("llvm"):
        total = extremum.run_kernel(lambda x: relax.op.sum(x, axis=[2]), numbers, (1, 1), "float32")
    return not math.isclose(float(total[0, 0]), float(numbers.sum(dtype="float64")), rel_tol=1e-4)


_REDUCTIONS = overriding(
    {
        "relax.sum": _reduction(_total, "sum", _total_of_rows),
        "relax.mean": _reduction(_mean, "mean", _mean_of_rows),
        "relax.variance": _reduction(_variance, "variance"),
        "relax.std": _reduction(_deviation, "std"),
        "relax.nn.layer_norm": _layer_norm,
        "relax.nn.softmax": _softmax(logarithm=False),
        "relax.nn.log_softmax": _softmax(logarithm=True),
    }
)

FIX = Fix(
    id="long_sums",
    what="sums, variances, layer_norm and softmax of many float32 numbers lose digits on CPUs",
    op="relax.sum, relax.mean, relax.variance, relax.std, relax.nn.layer_norm, relax.nn.softmax, "
    "relax.nn.log_softmax; topi.cumsum, topi.cumprod",
    affected="",
    install=_install,
    probe=_probe.any_of(_loses_digits, _scans_in_float32),
    needs_torch=False,
)
