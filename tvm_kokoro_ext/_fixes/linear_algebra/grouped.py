"""Matrix products of groups of rows, each with a matrix of its own: mixtures of experts.

torch.export leaves them as one operator, of torch in bfloat16 and of transformers otherwise.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.linear_algebra.matmul import accumulation_dtype


def grouped_mm(importer: Any, node: Any, previous: Any) -> Any:
    """aten._grouped_mm of rows [S, K] and matrices [E, K, N], or of two batches of matrices."""
    x, weight, ends, bias, dtype = _emit.arguments(
        importer, node, "self", "mat2", "offs", "bias", "out_dtype"
    )
    ranks = _compat.rank_of(x), _compat.rank_of(weight)
    if bias is not None or ranks not in ((2, 3), (3, 3)) or (ends is None) != (ranks == (3, 3)):
        raise _emit.refuse(
            node,
            f"TVM has it without a bias, of rows and a matrix for each group of them (2-d and 3-d) "
            f"or of two batches of matrices (3-d and 3-d), but not of {ranks[0]}-d and "
            f"{ranks[1]}-d{' with a bias' if bias is not None else ''}",
            "Multiply the groups one by one, or batches of equal size with torch.bmm, and add the "
            "bias afterwards",
        )
    wanted = _compat.dtype_of(x) if dtype is None else _emit.torch_dtype(importer, dtype)
    if ends is None:
        wide = accumulation_dtype(_compat.dtype_of(x))
        product = _emit.emit(importer, relax.op.matmul(x, weight, out_dtype=wide))
    else:
        product = _by_groups(importer, x, weight, ends)
    return _emit.astype(importer, product, wanted)


def fallback(importer: Any, node: Any, previous: Any) -> Any:
    """transformers.grouped_mm_fallback, in which rows that belong to no group become 0."""
    x, weight, ends = importer.retrieve_args(node)[:3]
    product = _by_groups(importer, x, weight, ends)
    return _emit.astype(importer, product, _compat.dtype_of(x))


def _by_groups(importer: Any, x: Any, weight: Any, ends: Any) -> Any:
    """Rows [S, K], of which group e ends in front of row ends[e], times weight [E, K, N].

    Added up in float32 for half precision, and of this dtype; 0 behind the last group.
    """
    dtype = accumulation_dtype(_compat.dtype_of(x))

    def groups(ends: Any, rows: Any) -> Any:
        e = te.reduce_axis((0, ends.shape[0]), name="e")
        return te.compute(
            (rows,),
            lambda i: te.sum(
                tirx.Cast("int64", tirx.Cast("int64", ends[e]) <= tirx.Cast("int64", i)), axis=e
            ),
            name="group",
        )

    rows = _emit.int64(_compat.shape_of(x)[0])
    group = _emit.emit_te(importer, groups, ends, rows, hint="groups")

    def products(x: Any, weight: Any, group: Any) -> Any:
        experts, terms, columns = weight.shape
        k = te.reduce_axis((0, terms), name="k")

        def element(i: Any, j: Any) -> Any:
            own = tirx.min(group[i], tirx.Cast("int64", experts) - 1)
            product = tirx.Cast(dtype, x[i, k]) * tirx.Cast(dtype, weight[own, k, j])
            grouped = group[i] < tirx.Cast("int64", experts)
            return te.sum(tirx.Select(grouped, product, tirx.const(0, dtype)), axis=k)

        return te.compute((x.shape[0], columns), element, name="grouped_mm")

    return _emit.emit_te(importer, products, x, weight, group, hint="grouped_mm")


FIX = Fix(
    id="grouped_matmul",
    what="matrix products of groups of rows, of mixtures of experts, are refused",
    op="aten._grouped_mm, transformers.grouped_mm_fallback",
    affected="",
    converters={"_grouped_mm.default": grouped_mm, "grouped_mm_fallback.default": fallback},
    probe=_probe.lacks("_grouped_mm.default", "grouped_mm_fallback.default"),
)
