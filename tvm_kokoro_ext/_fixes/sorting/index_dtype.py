"""int64 indices of sort, argsort and topk, and the requested dtype for mean (0.25)."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix, needs_previous


@needs_previous
def with_index(importer: Any, node: Any, previous: Any) -> Any:
    """The pair (values, indices) with int64 indices."""
    made = previous(node)
    if not _compat.is_tuple(made) or str(_compat.type_of(made).fields[1].dtype) == "int64":
        return made
    parts = [_emit.emit(importer, relax.TupleGetItem(made, i)) for i in range(2)]
    indices = _emit.astype(importer, parts[1], "int64")
    return _emit.emit(importer, relax.Tuple([parts[0], indices]))


@needs_previous
def argsort(importer: Any, node: Any, previous: Any) -> Any:
    return _emit.astype(importer, previous(node), "int64")


@needs_previous
def mean(importer: Any, node: Any, previous: Any) -> Any:
    x = importer.retrieve_args(node)[0]
    dtype = _emit.result_dtype(importer, node)
    if dtype is None or dtype == _compat.dtype_of(x):
        return previous(node)
    with _emit.standing_in(importer, node.args[0], _emit.astype(importer, x, dtype)):
        return previous(node)


@_probe.wrong
def _still_wrong() -> bool:
    import torch

    x = _probe.Input((2, 3), "int64")
    made = _probe.convert("mean.dim", x, [1], dtype=torch.float32, out=((2,), "float32"))
    return made.dtype != "float32"


FIX = Fix(
    id="index_dtype",
    what="indices of sort, argsort and topk are int32; mean of integers ignores dtype",
    op="aten.sort, aten.argsort, aten.topk, aten.mean",
    affected="<0.27",
    converters={
        "sort.default": with_index,
        "sort.stable": with_index,
        "topk.default": with_index,
        "argsort.default": argsort,
        "argsort.stable": argsort,
        "mean.dim": mean,
        "mean.default": mean,
    },
    probe=_still_wrong,
)
