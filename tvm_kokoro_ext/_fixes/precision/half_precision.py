"""Operators on float16 and bfloat16 compute in float32 and round their result once.

That is PyTorch's rule: its kernels widen each operand to `at::opmath_type` or `at::acc_type` and
narrow only what they store. Stock computes every step in the operands' dtype: a float16 sum of
8,192 ones stops growing at 2,048.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe, _program_probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix, needs_previous
from tvm_kokoro_ext._fixes._shared import detour

HALF = ("float16", "bfloat16")

_MOVEMENT = """
    alias as_strided broadcast_to cat channel_shuffle chunk clone concat conj constant_pad_nd
    contiguous copy detach diagonal diagonal_copy diagonal_scatter embedding empty empty_like
    empty_permuted expand expand_as expand_copy eye fill flatten flip full full_like gather imag
    index index_fill index_select item lift_fresh_copy _local_scalar_dense masked_fill
    masked_scatter masked_select meshgrid movedim narrow new_empty new_full new_ones new_zeros
    one_hot ones ones_like pad permute pixel_shuffle pixel_unshuffle real reflection_pad1d
    reflection_pad2d reflection_pad3d repeat repeat_interleave replication_pad1d replication_pad2d
    replication_pad3d reshape reshape_as resolve_conj resolve_neg roll scalar_tensor select
    select_scatter slice slice_scatter split split_with_sizes squeeze stack t take to _to_copy
    to_sparse transpose tril triu type_as unbind unflatten unfold unsqueeze view view_as where zero
    zeros zeros_like complex view_as_complex view_as_real
    _assert_async _assert_scalar _assert_tensor_metadata nextafter nan_to_num
"""
_COMPARISON = """
    eq ne lt le gt ge isnan isinf isfinite isin sign signbit logical_and logical_or logical_not
    logical_xor all any argmax argmin argsort max min amax amin aminmax maximum minimum fmax fmin
    sort topk kthvalue median mode nonzero searchsorted bucketize clamp clamp_max clamp_min clip
    hardtanh relu relu6 threshold neg abs floor ceil trunc cummax cummin max_pool1d max_pool2d
    max_pool3d max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices
    adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d upsample_nearest1d
    upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d
    _upsample_nearest_exact3d
"""
_RANDOM = """
    alpha_dropout bernoulli cauchy dropout exponential feature_alpha_dropout feature_dropout
    geometric log_normal multinomial native_dropout normal normal_functional poisson rand rand_like
    randint randint_like randn randn_like random randperm uniform
"""
#: Operators that move elements, or whose results depend on the width of their dtype.
_AS_IT_IS = frozenset((_MOVEMENT + _RANDOM).split())
#: Operators that round nothing in any dtype. TVM lacks kernels of them for bfloat16 (`isnan`,
#: infinities), so that dtype is widened here too.
_EXACT = frozenset(_COMPARISON.split())
#: Exact operators that have kernels for bfloat16: they choose operands or bounds
#: (`nan_elementwise`), or compare.
_CHOOSING = frozenset(
    [
        *("relu", "relu6", "hardtanh", "clamp", "clamp_max", "clamp_min", "clip"),
        *("maximum", "minimum", "abs", "neg", "eq", "ne", "lt", "le", "gt", "ge"),
    ]
)
#: Operators whose numbers are operands. PyTorch rounds these to the tensor's dtype, and with them a
#: tensor without dimensions.
_WITH_NUMBERS = frozenset(
    [
        *("eq", "ne", "lt", "le", "gt", "ge"),
        *("clamp", "clamp_max", "clamp_min", "clip", "hardtanh"),
        *("add", "sub", "subtract", "rsub", "mul", "multiply", "div", "divide", "floor_divide"),
        *("remainder", "fmod", "pow", "atan2", "hypot", "maximum", "minimum", "fmax", "fmin"),
    ]
)
#: But its kernels of these read the second operand with all its digits.
_WIDE_SECOND = frozenset(["mul", "multiply", "div", "divide", "floor_divide"])
#: These take numbers only.
_BOUNDED = frozenset(["clamp", "clamp_max", "clamp_min", "clip", "hardtanh"])
#: A float32 has more than twice the digits of both operands, so the result is rounded right either
#: way (Figueroa, "When is double rounding innocuous?", 1995).
_ROUNDED_ONCE = frozenset({"add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor"})
#: These read operands of half precision and add up in float32 by themselves (`matmul` and
#: `convolution`): a copy of a weight in float32 would be read at every call.
_PRODUCTS = frozenset(
    [
        *("matmul", "mm", "bmm", "linear", "addmm", "baddbmm", "convolution"),
        *("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
    ]
)


@needs_previous
def in_float32(importer: Any, node: Any, previous: Any) -> Any:
    """Convert the node as if its half-precision tensors were float32, and narrow its results."""
    name = _operator(node)
    if name == "_to_copy":
        return _cast(importer, node, previous)
    if name is None or name in _AS_IT_IS or name in _PRODUCTS or _moves_elements(node, name):
        return previous(node)
    narrow = _requested(node)
    found = {_compat.dtype_of(tensor) for _, tensor in detour.tensors(importer, node)}
    if name in _CHOOSING and len(found) == 1:
        return previous(node)
    widened = {"bfloat16"} if name in _EXACT else set(HALF)
    if narrow is None and not found & widened:
        return previous(node)
    if narrow is None and _is_rounded_once(importer, node):
        return previous(node)
    half = _computes_in(importer, node) if name in _WITH_NUMBERS else None
    second = node.args[1] if name in _WIDE_SECOND and len(node.args) > 1 else None

    def there(tensor: Any) -> Any:
        dtype = _compat.dtype_of(tensor)
        if half and _compat.rank_of(tensor) == 0 and tensor is not importer.env.get(second):
            tensor, dtype = _emit.astype(importer, tensor, half), half
        if not _is_float(dtype):
            return tensor
        if narrow is not None:  # an argument `dtype` applies to the operand, before anything else
            tensor = _emit.astype(importer, tensor, narrow)
        return _emit.astype(importer, tensor, "float32" if narrow or dtype in HALF else dtype)

    def back(result: Any, wanted: Any) -> Any:
        if isinstance(result, relax.Call):
            result = importer.block_builder.normalize(result)
        if not _compat.is_tensor(result) or not hasattr(wanted, "dtype"):
            return result
        dtype = _emit.torch_dtype(importer, wanted.dtype)
        return _emit.astype(importer, result, dtype) if dtype in HALF else result

    seen = _Widened(node)
    if half:
        seen.args = tuple(a if a is second else _rounded(a, half) for a in seen.args)
        seen.kwargs = {key: _rounded(value, half) for key, value in seen.kwargs.items()}
    with ExitStack() as stack:
        for argument in node.args if half and name not in _BOUNDED else ():
            value = importer.env.get(argument) if argument in node.all_input_nodes else None
            if _compat.is_prim(value) and argument is not second:
                number = _emit.scalar(importer, value, "float32")
                stack.enter_context(_emit.standing_in(importer, argument, number))
        return detour.convert(importer, node, previous, there, back, seen)


def _computes_in(importer: Any, node: Any) -> str | None:
    """The dtype of half precision that PyTorch brings the operands to, or None."""
    operands = [tensor for _, tensor in detour.tensors(importer, node)]
    leading = [x for x in operands if _compat.rank_of(x) != 0] or operands
    dtypes = {_compat.dtype_of(x) for x in leading} & {*HALF, "float32", "float64"}
    return next(iter(dtypes)) if len(dtypes) == 1 and dtypes <= set(HALF) else None


def _cast(importer: Any, node: Any, previous: Any) -> Any:
    """The conversion of `to(torch.float32)`, which operators that compute in float32 use too."""
    result = previous(node)
    for _, x in detour.tensors(importer, node):
        if _compat.dtype_of(x) in HALF and _emit.result_dtype(importer, node) == "float32":
            _emit.remember_cast(importer, x, result)
    return result


def _operator(node: Any) -> str | None:
    """The operator's name without overload and underscores of in-place; None for custom ones."""
    schema = getattr(node.target, "_schema", None)
    space, _, name = str(getattr(schema, "name", "")).partition("::")
    return (name.removesuffix("_") or None) if space in ("aten", "torchvision") else None


def _moves_elements(node: Any, name: str) -> bool:
    """Operators that move elements unless an argument asks for sums."""
    if name == "index_put":
        return not (node.kwargs.get("accumulate") or (len(node.args) > 3 and node.args[3]))
    return name == "scatter" and "reduce" not in node.target._overloadname


def _is_rounded_once(importer: Any, node: Any) -> bool:
    """Arithmetic of two tensors of one dtype, which needs no wider intermediate.

    Or of a bfloat16 and a number that bfloat16 holds: its kernels widen within one loop.
    """
    if node.target.__name__ not in _ROUNDED_ONCE or node.kwargs or len(node.args) != 2:
        return False
    lhs, rhs = importer.retrieve_args(node)
    if not _compat.is_tensor(lhs):
        return False
    dtype = _compat.dtype_of(lhs)
    if not _compat.is_tensor(rhs):
        return dtype == "bfloat16" and _is_held(rhs, dtype)
    return _compat.dtype_of(rhs) == dtype


def _is_held(value: Any, dtype: str) -> bool:
    """Whether a dtype of half precision has this finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and _rounded(value, dtype) == value


def _requested(node: Any) -> str | None:
    """The half-precision dtype that an argument asks for."""
    for value in (*node.args, *node.kwargs.values()):
        name = str(value).removeprefix("torch.")
        if name in HALF:
            return name
    return None


class _Widened:
    """A node with float32 in place of half precision in its arguments and in torch's record."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self.args = tuple(map(_widened, node.args))
        self.kwargs = {name: _widened(value) for name, value in node.kwargs.items()}
        self.meta = {**node.meta, "val": _widened(node.meta.get("val"))}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)


def _rounded(value: Any, dtype: str) -> Any:
    """A Python number as a dtype of half precision holds it; other arguments as they are."""
    import torch

    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return float(torch.tensor(value, dtype=getattr(torch, dtype)))


def _widened(value: Any) -> Any:
    """A dtype, a tensor of torch's record, or a sequence of them, with float32 for half."""
    import torch

    half = (torch.float16, torch.bfloat16)
    if isinstance(value, torch.dtype):
        return torch.float32 if value in half else value
    if isinstance(value, torch.Tensor):
        return value.to(torch.float32) if value.dtype in half else value
    return [_widened(item) for item in value] if isinstance(value, list | tuple) else value


def _is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


@_probe.wrong
def _still_wrong() -> bool:
    """Whether a float16 sum is imported without a conversion to wider numbers."""
    made = _program_probe.operators(
        "sum.default", _probe.Input((4,), "float16"), out=((), "float16")
    )
    return "relax.astype" not in made


FIX = Fix(
    id="half_precision",
    what="float16 and bfloat16 are added up and rounded step by step in their own dtype",
    op="aten.sum, aten.mean, aten.softmax, aten.layer_norm, … of float16 and bfloat16",
    affected="",
    around=in_float32,
    probe=_still_wrong,
)
