"""Sorting, extrema and scattering of bool tensors, computed in int32.

TVM's kernels do not support minima, maxima, order and sums of bools.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe, _program_probe
from tvm_kokoro_ext._fix import Fix, needs_previous
from tvm_kokoro_ext._fixes._shared import detour

_NAMES = (
    "max.default",
    "max.dim",
    "min.default",
    "min.dim",
    "amax.default",
    "amin.default",
    "cummax.default",
    "cummin.default",
    "maximum.default",
    "minimum.default",
    "fmax.default",
    "fmin.default",
    "sort.default",
    "sort.stable",
    "argsort.default",
    "argsort.stable",
    "topk.default",
    "msort.default",
    "kthvalue.default",
    "mode.default",
    "median.default",
    "median.dim",
    "scatter.reduce",
    "scatter_add.default",
    "scatter_reduce.two",
    "index_add.default",
    "outer.default",
    "square.default",
    "eq.Tensor",
    "ne.Tensor",
    "lt.Tensor",
    "le.Tensor",
    "gt.Tensor",
    "ge.Tensor",
)
_BESIDE_NUMBERS = ("eq.Scalar", "ne.Scalar", "lt.Scalar", "le.Scalar", "gt.Scalar", "ge.Scalar")


@needs_previous
def in_int32(importer: Any, node: Any, previous: Any) -> Any:
    found = detour.tensors(importer, node)
    bools = [value for _, value in found if _compat.dtype_of(value) == "bool"]
    if not bools or len(bools) < sum(_is_value(node, *pair) for pair in found):
        return previous(node)

    def there(tensor: Any) -> Any:
        return _emit.astype(importer, tensor, "int32") if tensor in bools else tensor

    def back(result: Any, wanted: Any) -> Any:
        return _emit.astype(importer, result, _emit.torch_dtype(importer, wanted.dtype))

    return detour.convert(importer, node, previous, there, back)


@needs_previous
def beside_true(importer: Any, node: Any, previous: Any) -> Any:
    """True and False are compared in int32 as well; other numbers have a wider dtype already."""
    beside = isinstance(node.args[1], bool)
    return in_int32(importer, node, previous) if beside else previous(node)


def _is_value(node: Any, argument: Any, tensor: Any) -> bool:
    """Whether a tensor contains values and not indices, which are int64 or int32."""
    if _compat.dtype_of(tensor) == "int64":
        return False
    names = (parameter.name for parameter in node.target._schema.arguments)
    return (argument, "index") not in zip(node.args, names, strict=False)


@needs_previous
def sign(importer: Any, node: Any, previous: Any) -> Any:
    """The sign of a bool is the bool itself."""
    x = importer.retrieve_args(node)[0]
    bool_already = _compat.is_tensor(x) and _compat.dtype_of(x) == "bool"
    return x if bool_already else previous(node)


@_probe.wrong
def _computed_as_bools() -> bool:
    """Whether an extremum or a comparison of bools is imported without a conversion to numbers."""
    x, out = _probe.Input((4,), "bool"), ((), "bool")
    made = [
        _program_probe.operators("amax.default", x, [0], out=out),
        _program_probe.operators("gt.Tensor", x, x, out=((4,), "bool")),
    ]
    return any("relax.astype" not in operators for operators in made)


FIX = Fix(
    id="bool_operands",
    what="sort, max, min, cummax, scatter_add and comparisons of bool tensors do not build",
    op="aten.sort, aten.max, aten.min, aten.amax, aten.scatter_add, …",
    affected="",
    converters={
        **dict.fromkeys(_NAMES, in_int32),
        **dict.fromkeys(_BESIDE_NUMBERS, beside_true),
        "sign.default": sign,
        "sgn.default": sign,
    },
    probe=_computed_as_bools,
)
