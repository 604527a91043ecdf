"""Indexing with a bool mask, and nonzero, whose results have a data-dependent length."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import indexing


def index(importer: Any, node: Any, previous: Any) -> Any:
    x, indices = _emit.arguments(importer, node, "self", "indices")
    given = [(axis, i) for axis, i in enumerate(indices) if i is not None]
    if not any(_compat.dtype_of(i) in ("bool", "uint8") for _, i in given):
        return previous(node)
    if len(given) > 1:
        raise _emit.refuse(
            node,
            "a boolean mask together with other index tensors",
            "Index with mask.nonzero() first, or write the selection with torch.where",
        )
    axis, mask = given[0]
    chosen = places(importer, node, mask)
    shape = _compat.shape_of(x)
    covered = _compat.rank_of(mask)
    merged = [*shape[:axis], _emit.extent(shape[axis : axis + covered]), *shape[axis + covered :]]
    flat = _emit.emit(importer, relax.op.reshape(x, merged)) if covered != 1 else x
    return _emit.emit(importer, relax.op.take(flat, chosen, axis=axis))


def places(importer: Any, node: Any, mask: Any) -> Any:
    """Flat positions of the true elements of the mask, [k] with a new variable k."""
    flat = indexing.flatten(importer, _emit.astype(importer, mask, "bool"))
    found = _emit.emit(importer, relax.op.nonzero(flat))
    count = _compat.tir_var(f"{node.name}_count")
    found = importer.block_builder.match_cast(found, _compat.tensor_type([1, count], "int64"))
    return _emit.emit(importer, relax.op.squeeze(found, axis=[0]))


def nonzero(importer: Any, node: Any, previous: Any) -> Any:
    x = importer.retrieve_args(node)[0]
    rows = _compat.rank_of(x)
    if rows == 0:
        raise _emit.refuse(node, "a tensor without dimensions", "Reshape it to [1] first")
    found = _emit.emit(importer, relax.op.nonzero(x))
    count = _compat.tir_var(f"{node.name}_count")
    found = importer.block_builder.match_cast(found, _compat.tensor_type([rows, count], "int64"))
    return _emit.emit(importer, relax.op.permute_dims(found, [1, 0]))


FIX = Fix(
    id="mask_read",
    what="x[mask] and nonzero",
    op="aten.index, aten.nonzero",
    affected="",
    converters={"index.Tensor": index, "nonzero.default": nonzero},
    probe=_probe.lacks("nonzero.default"),
)
