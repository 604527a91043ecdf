"""Operators that leave their tensor as it is, and that stock turns into kernels that copy it.

Torch's decompositions are full of them: a batched product expands both operands to the sizes that
they have, attention scales its operands by 1, and positions begin at 0. `tvm.compile` neither
removes nor fuses such kernels.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix, needs_previous


@needs_previous
def expand(importer: Any, node: Any, previous: Any) -> Any:
    """expand to the sizes that the tensor has is the tensor."""
    args = importer.retrieve_args(node)
    x, sizes = args[0], args[1] if isinstance(args[1], list | tuple) else args[1:]
    if not _compat.has_shape(x):
        return previous(node)
    shape = _compat.shape_of(x)
    if len(sizes) != len(shape):
        return previous(node)
    kept = (
        _compat.as_int(size) == -1 or _compat.prim_equal(_compat.prim(size), own)
        for size, own in zip(sizes, shape, strict=True)
    )
    return x if all(kept) else previous(node)


@needs_previous
def multiply(importer: Any, node: Any, previous: Any) -> Any:
    """x * 1, whose dtype is that of x: every number, infinity and NaN stays what it is."""
    return _unless_neutral(importer, node, previous, 1)


@needs_previous
def add(importer: Any, node: Any, previous: Any) -> Any:
    """x + 0 of integers; of floats it is not -0 where x is."""
    return _unless_neutral(importer, node, previous, 0)


def _unless_neutral(importer: Any, node: Any, previous: Any, neutral: int) -> Any:
    x, number, *rest = importer.retrieve_args(node)
    same = isinstance(number, int | float) and number == neutral and not rest and not node.kwargs
    # An input stays apart from the result, in which torch does not let its caller see it.
    if not same or not isinstance(x, relax.DataflowVar) or not _compat.is_tensor(x):
        return previous(node)
    dtype = _compat.dtype_of(x)
    if neutral == 0 and "int" not in dtype:
        return previous(node)
    return x if _emit.result_dtype(importer, node) == dtype else previous(node)


@_probe.wrong
def _still_wrong() -> bool:
    x = _probe.Input((2, 3), computed=True)
    counts = _probe.Input((4,), "int64", computed=True)
    made = [
        _probe.convert("expand.default", x, [2, 3], out=(x.shape, x.dtype)),
        _probe.convert("mul.Tensor", x, 1.0, out=(x.shape, x.dtype)),
        _probe.convert("add.Tensor", counts, 0, out=(counts.shape, counts.dtype)),
    ]
    return any(each.ops for each in made)


FIX = Fix(
    id="copies",
    what="expand to the sizes that a tensor has, x * 1 and x + 0 of integers are kernels that copy",
    op="aten.expand, aten.mul, aten.add",
    affected="",
    converters={
        "expand.default": expand,
        "mul.Tensor": multiply,
        "mul.Scalar": multiply,
        "add.Tensor": add,
        "add.Scalar": add,
    },
    probe=_still_wrong,
)
