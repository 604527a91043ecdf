"""Operators along a dimension of a 0-d tensor, which torch treats like one of shape [1]."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe, _program_probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix, needs_previous
from tvm_kokoro_ext._fixes._shared import detour

_NAMES = (
    "sum.dim_IntList",
    "mean.dim",
    "prod.dim_int",
    "amax.default",
    "amin.default",
    "max.dim",
    "min.dim",
    "any.dim",
    "any.dims",
    "all.dim",
    "all.dims",
    "argmax.default",
    "argmin.default",
    "var.correction",
    "std.correction",
    "var_mean.correction",
    "std_mean.correction",
    "var.dim",
    "std.dim",
    "var_mean.dim",
    "std_mean.dim",
    "logsumexp.default",
    "linalg_vector_norm.default",
    "softmax.int",
    "_softmax.default",
    "log_softmax.int",
    "_log_softmax.default",
    "cumsum.default",
    "cumprod.default",
    "cummax.default",
    "cummin.default",
    "logcumsumexp.default",
    "sort.default",
    "sort.stable",
    "argsort.default",
    "argsort.stable",
    "topk.default",
    "kthvalue.default",
    "median.dim",
    "mode.default",
    "gather.default",
    "index_add.default",
    "index_fill.int_Scalar",
    "scatter.src",
    "scatter.value",
    "scatter.reduce",
    "scatter.value_reduce",
    "scatter_add.default",
    "scatter_reduce.two",
    "flatten.using_ints",
    "flip.default",
    "roll.default",
    "transpose.int",
    "unfold.default",
)


@needs_previous
def as_one_dimension(importer: Any, node: Any, previous: Any) -> Any:
    found = detour.tensors(importer, node)
    if not found or _compat.rank_of(found[0][1]) != 0:
        return previous(node)

    def there(tensor: Any) -> Any:
        if _compat.rank_of(tensor) != 0:
            return tensor
        return _emit.emit(importer, relax.op.reshape(tensor, relax.ShapeExpr([_emit.int64(1)])))

    def back(result: Any, wanted: Any) -> Any:
        shape = relax.ShapeExpr([_emit.int64(int(size)) for size in wanted.shape])
        return _emit.emit(importer, relax.op.reshape(result, shape))

    return detour.convert(importer, node, previous, there, back)


@needs_previous
def index_select(importer: Any, node: Any, previous: Any) -> Any:
    """The index may be without dimensions as well, and stock would drop the axis."""
    *_, index = _emit.arguments(importer, node, "self", "dim", "index")
    if not _compat.is_tensor(index) or _compat.rank_of(index) != 0:
        return as_one_dimension(importer, node, previous)
    one = _emit.emit(importer, relax.op.reshape(index, relax.ShapeExpr([_emit.int64(1)])))
    with _emit.standing_in(importer, node.args[2], one):
        return as_one_dimension(importer, node, previous)


@needs_previous
def unchanged(importer: Any, node: Any, previous: Any) -> Any:
    x = importer.retrieve_args(node)[0]
    return x if _compat.is_tensor(x) and _compat.rank_of(x) == 0 else previous(node)


@_probe.wrong
def _still_wrong() -> bool:
    made = _program_probe.operators("softmax.int", _probe.Input(()), 0, out=((), "float32"))
    return made != ("relax.reshape", "relax.nn.softmax", "relax.reshape")


FIX = Fix(
    id="zero_dimensions",
    what="operators along dimension 0 of a tensor without dimensions fail",
    op="aten.softmax, aten.sum, aten.max, aten.sort, aten.gather, …",
    affected="",
    converters={
        **dict.fromkeys(_NAMES, as_one_dimension),
        "index_select.default": index_select,
        "squeeze.dim": unchanged,
        "squeeze.dims": unchanged,
    },
    probe=_still_wrong,
)
