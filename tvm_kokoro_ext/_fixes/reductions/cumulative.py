"""cumsum and cumprod in int64, as in torch; cummax, cummin and logcumsumexp."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Converter, Fix, needs_previous
from tvm_kokoro_ext._fixes.reductions import _scan


@needs_previous
def cumulate(importer: Any, node: Any, previous: Any) -> Any:
    x, dim = _emit.arguments(importer, node, "self", "dim")
    dtype = _emit.result_dtype(importer, node)
    given = node.kwargs.get("dtype") is not None
    folded = _folded(x, dim)
    if (given or dtype is None or _compat.dtype_of(x) == dtype) and folded is None:
        return previous(node)
    function = relax.op.cumsum if node.target.__name__ == "cumsum.default" else relax.op.cumprod
    x = _emit.astype(importer, x, dtype or _compat.dtype_of(x))
    if folded is None:
        return _emit.emit(importer, function(x, dim))
    shapes = [relax.ShapeExpr(list(map(_emit.int64, s))) for s in (folded, _compat.shape_of(x))]
    rows = _emit.emit(importer, relax.op.reshape(x, shapes[0]))
    made = _emit.emit(importer, function(rows, 1))
    return _emit.emit(importer, relax.op.reshape(made, shapes[1]))


def _folded(x: Any, dim: int) -> list[Any] | None:
    """The sizes before the axis, along it and behind it, each as one, for many symbolic dimensions.

    The kernel of TVM counts the elements in one number, of which it computes an index for each
    dimension again; with four symbolic dimensions its build takes minutes. None otherwise.
    """
    if not _compat.has_shape(x):
        return None
    sizes = _compat.shape_of(x)
    if sum(not isinstance(size, int) for size in sizes) < 3 or len(sizes) < 4:
        return None
    axis = _emit.normalize_axis(dim, len(sizes))
    parts = sizes[:axis], sizes[axis : axis + 1], sizes[axis + 1 :]
    return [_emit.extent(part) for part in parts]


def _running(largest: bool) -> Converter:
    def convert(importer: Any, node: Any, previous: Any) -> Any:
        x, dim = _emit.arguments(importer, node, "self", "dim")
        axis = _emit.normalize_axis(dim, _compat.rank_of(x))
        return _scan.extremum(importer, x, axis, largest=largest)

    return convert


def logcumsumexp(importer: Any, node: Any, previous: Any) -> Any:
    x, dim = _emit.arguments(importer, node, "self", "dim")
    return _scan.log_sum(importer, x, _emit.normalize_axis(dim, _compat.rank_of(x)))


@_probe.wrong
def _still_wrong() -> bool:
    x = _probe.Input((4,), "int32")
    return _probe.convert("cumsum.default", x, 0, out=((4,), "int64")).dtype != "int64"


FIX = Fix(
    id="cumsum",
    what="cumsum and cumprod of bool and small integers; cummax, cummin, logcumsumexp",
    op="aten.cumsum, aten.cumprod, aten.cummax, aten.cummin, aten.logcumsumexp",
    affected="",
    converters={
        "cumsum.default": cumulate,
        "cumprod.default": cumulate,
        "cummax.default": _running(largest=True),
        "cummin.default": _running(largest=False),
        "logcumsumexp.default": logcumsumexp,
    },
    probe=_probe.any_of(
        _still_wrong,
        _probe.lacks("cummax.default", "cummin.default", "logcumsumexp.default"),
    ),
)
