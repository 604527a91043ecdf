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
    if given or dtype is None or _compat.dtype_of(x) == dtype:
        return previous(node)
    function = relax.op.cumsum if node.target.__name__ == "cumsum.default" else relax.op.cumprod
    return _emit.emit(importer, function(_emit.astype(importer, x, dtype), dim))


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
