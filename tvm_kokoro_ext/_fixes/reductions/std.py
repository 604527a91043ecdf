"""std and var with any correction, over constant and symbolic axes.

Without decomposition, stock's std ignores the correction; with it, stock needs constant axes, and
is NaN where the correction is larger than the number of elements.
"""

from __future__ import annotations

import math
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax, tirx
from tvm_kokoro_ext._fix import Fix


def _variance(importer: Any, node: Any) -> tuple[Any, Any]:
    """(variance, mean) for the node's arguments; the divisor is the count minus the correction."""
    name = node.target.__name__
    x, dim, correction, keep = _read(importer, node, name)
    shape = _compat.shape_of(x)
    axes = range(len(shape)) if dim is None else [dim] if isinstance(dim, int) else dim
    axes = [_emit.normalize_axis(axis, len(shape)) for axis in axes] or list(range(len(shape)))
    count = _emit.extent([shape[axis] for axis in axes])
    dtype = _compat.dtype_of(x)
    mean = _emit.emit(importer, relax.op.mean(x, axes, keepdims=True))
    centred = _emit.emit(importer, relax.op.subtract(x, mean))
    squares = _emit.emit(importer, relax.op.multiply(centred, centred))
    total = _emit.emit(importer, relax.op.sum(squares, axes, keepdims=keep))
    if isinstance(count, int):
        divisor = relax.const(float(max(count - correction, 0)), dtype)
    else:
        number = tirx.Cast("float64", count) - tirx.const(float(correction), "float64")
        divisor = _emit.scalar(importer, tirx.max(number, tirx.const(0.0, "float64")), dtype)
    variance = _emit.emit(importer, relax.op.divide(total, divisor))
    if not keep:
        mean = _emit.emit(importer, relax.op.squeeze(mean, axes))
    return variance, mean


def _read(importer: Any, node: Any, name: str) -> tuple[Any, Any, float, bool]:
    if name.endswith(".correction"):
        x, dim, correction, keep = _emit.arguments(
            importer, node, "self", "dim", "correction", "keepdim", keepdim=False
        )
        return x, dim, 1 if correction is None else correction, bool(keep)
    if name.endswith(".dim"):
        x, dim, unbiased, keep = _emit.arguments(
            importer, node, "self", "dim", "unbiased", "keepdim", unbiased=True, keepdim=False
        )
        return x, dim, int(unbiased), bool(keep)
    x, unbiased = _emit.arguments(importer, node, "self", "unbiased", unbiased=True)
    return x, None, int(unbiased), False


def var(importer: Any, node: Any, previous: Any) -> Any:
    if previous is not None and _stock_is_right(importer, node):
        return previous(node)
    return _variance(importer, node)[0]


def std(importer: Any, node: Any, previous: Any) -> Any:
    return _emit.emit(importer, relax.op.sqrt(_variance(importer, node)[0]))


def var_mean(importer: Any, node: Any, previous: Any) -> Any:
    return _emit.emit(importer, relax.Tuple(list(_variance(importer, node))))


def std_mean(importer: Any, node: Any, previous: Any) -> Any:
    variance, mean = _variance(importer, node)
    root = _emit.emit(importer, relax.op.sqrt(variance))
    return _emit.emit(importer, relax.Tuple([root, mean]))


def _stock_is_right(importer: Any, node: Any) -> bool:
    """Whether the node is var.correction over constant axes with more elements than that.

    An empty list of axes means all of them. Stock scales the mean of the squares by a factor that
    is NaN where the correction leaves no divisor, and the variance is infinite.
    """
    if node.target.__name__ != "var.correction" or len(node.args) > 2:
        return False
    x, dim, correction, _ = _read(importer, node, "var.correction")
    shape = _compat.shape_of(x)
    if dim == [] or not all(isinstance(size, int) for size in shape):
        return False
    axes = range(len(shape)) if dim is None else [dim] if isinstance(dim, int) else dim
    return bool(math.prod(shape[axis] for axis in axes) > correction)


@_probe.wrong
def _still_wrong() -> bool:
    x = _probe.Input((3, "n"))
    made = _probe.convert("var.correction", x, [1], out=((3,), "float32"), correction=1)
    return made.shape is None


@_probe.wrong
def _correction_is_dropped() -> bool:
    x, out = _probe.Input((3, 4)), ((3,), "float32")
    made = [_probe.convert("std.correction", x, [1], out=out, correction=c) for c in (0, 1)]
    return made[0].ops == made[1].ops


@_probe.wrong
def _no_axes_are_misread() -> bool:
    """Whether an empty list of axes is not read as all of them."""
    made = _probe.convert("var.correction", _probe.Input((3, 4)), [], out=((), "float32"))
    return made.shape != ()


@_probe.wrong
def _infinity_is_nan() -> bool:
    """Whether the variance is scaled by NaN where the correction exceeds the elements."""
    x, out = _probe.Input((3, 4)), ((4,), "float32")
    made = _probe.convert("var.correction", x, [0], out=out, correction=20)
    return "relax.divide" not in made.ops


_OVERLOADS = ("correction", "dim", "default")

FIX = Fix(
    id="std",
    what="std drops the correction without decomposition; std and var over a symbolic axis fail",
    op="aten.std, aten.var, aten.var_mean, aten.std_mean",
    affected="",
    converters={
        f"{name}.{overload}": converter
        for name, converter in (
            ("std", std),
            ("var", var),
            ("var_mean", var_mean),
            ("std_mean", std_mean),
        )
        for overload in _OVERLOADS
    },
    probe=_probe.any_of(
        _still_wrong,
        _correction_is_dropped,
        _no_axes_are_misread,
        _infinity_is_nan,
        _probe.lacks(*(f"{name}.default" for name in ("std", "var", "var_mean", "std_mean"))),
        _probe.lacks(*(f"{name}.dim" for name in ("std", "var", "var_mean", "std_mean"))),
    ),
)
