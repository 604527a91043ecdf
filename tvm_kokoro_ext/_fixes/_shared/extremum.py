"""Maxima and minima that propagate NaN, as in torch.

TVM's max(a, b) is `a > b ? a : b`, which drops a NaN on the left. Here, two values are compared
such that NaN is chosen. Reductions are done on integers with the same order as the numbers, with
NaN beyond them: TVM's own integer reducer then propagates NaN, and LLVM vectorizes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, te, tirx, tvm
from tvm_kokoro_ext._fixes._shared import bfloat16

FLOATS = ("float16", "bfloat16", "float32", "float64")
_KEYS = {"float32": "int32", "float64": "int64"}


def is_nan(x: Any) -> Any:
    """Whether a floating point expression is NaN; TVM's own test knows no bfloat16."""
    x = _expression(x)
    return bfloat16.is_nan(x) if _compat.prim_dtype(x) == "bfloat16" else tirx.isnan(x)


def maximum(a: Any, b: Any) -> Any:
    """The larger of two floating point expressions, or NaN if one is NaN."""
    return _or_nan(less(b, a), a, b)


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two floating point expressions, or NaN if one is NaN."""
    return _or_nan(less(a, b), a, b)


def _or_nan(is_first: Any, a: Any, b: Any) -> Any:
    """a if `is_first`, a comparison that is false for NaN, or else b; NaN if one is NaN.

    LLVM makes a maximum of the processor of a comparison of floats alone. NaN on the left, which
    it drops, is the number with all of its bits set.
    """
    dtype = _KEYS.get(_compat.prim_dtype(_expression(a)))
    if dtype is None:
        return chosen(tirx.any(is_nan(a), is_first), a, b)
    bits = tirx.reinterpret(dtype, chosen(is_first, a, b))
    all_bits = tirx.Select(is_nan(a), tirx.const(-1, dtype), tirx.const(0, dtype))
    return tirx.reinterpret(_compat.prim_dtype(_expression(a)), tirx.bitwise_or(bits, all_bits))


def less(a: Any, b: Any) -> Any:
    """Whether a floating point expression is less than another, which is false if one is NaN."""
    a, b = _expression(a), _expression(b)
    return bfloat16.less(a, b) if _compat.prim_dtype(a) == "bfloat16" else a < b


def chosen(condition: Any, a: Any, b: Any) -> Any:
    """a or b, floating point expressions of one dtype; bfloat16 is not rounded anew."""
    a, b = _expression(a), _expression(b)
    choose = bfloat16.chosen if _compat.prim_dtype(a) == "bfloat16" else tirx.Select
    return choose(condition, a, b)


def _expression(x: Any) -> Any:
    return x.asobject() if hasattr(x, "asobject") else x  # an element of a TE tensor


def key(x: Any, largest: bool) -> Any:
    """An integer key with the same order as the float; NaN is beyond all numbers.

    `largest` selects the side of NaN. −0 comes before 0. float16 and bfloat16 are converted to
    float32.
    """
    x = x if _compat.prim_dtype(x) in _KEYS else tirx.Cast("float32", x)
    dtype = _KEYS[_compat.prim_dtype(x)]
    bits = tirx.reinterpret(dtype, x)
    beyond = tirx.max_value(dtype) if largest else tirx.min_value(dtype)
    return tirx.Select(tirx.isnan(x), beyond, _flipped(bits))


def number(ordered: Any, dtype: str) -> Any:
    """The float with this key; NaN for integers beyond all numbers."""
    kind = next(kind for kind, integer in _KEYS.items() if integer == _compat.prim_dtype(ordered))
    value = tirx.reinterpret(kind, _flipped(ordered))
    return value if kind == dtype else tirx.Cast(dtype, value)


def _flipped(bits: Any) -> Any:
    """Invert the bits of the magnitude if the sign bit is set; this is its own inverse."""
    dtype = _compat.prim_dtype(bits)
    turned = tirx.bitwise_xor(bits, tirx.max_value(dtype))
    return tirx.Select(bits < tirx.const(0, dtype), turned, bits)


def keys(data: Any) -> Any:
    """A TE tensor of the keys of floats, equal for zeros of both signs and largest for NaN."""
    zero = tirx.const(0, data.dtype)

    def element(*at: Any) -> Any:
        return key(tirx.Select(data(*at) == zero, zero, data(*at)), largest=True)

    return te.compute(data.shape, element, name="key")


def numbers(ordered: Any, dtype: str) -> Any:
    """A TE tensor of the floats with these keys."""
    return te.compute(ordered.shape, lambda *at: number(ordered(*at), dtype), name="number")


def run_on_nan(apply: Callable[[Any], Any], shape: Sequence[int], dtype: str) -> np.ndarray:
    """Run TVM's kernel for `apply(x)` on x = [[[NaN, 1, 2, 0]]] float32, as `run_kernel` does."""
    return run_kernel(apply, np.array([[[np.nan, 1, 2, 0]]], "float32"), shape, dtype)


def run_kernel(
    apply: Callable[[Any], Any], given: np.ndarray, shape: Sequence[int], dtype: str
) -> np.ndarray:
    """Run the one kernel that `apply(x)` is legalized to, on x = `given`.

    `shape` and `dtype` are those of the result. Building and running the kernel takes some
    hundredths of a second.
    """
    x = relax.Var("x", _compat.tensor_type(list(given.shape), str(given.dtype)))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(apply(x)))
    module = relax.transform.LegalizeOps()(builder.get())
    (kernel,) = (f for name, f in module.functions_items() if name.name_hint != "main")
    built = tvm.tirx.build(kernel.with_attr("global_symbol", "kernel"), {"kind": "llvm"})
    out = tvm.runtime.tensor(np.zeros(shape, dtype))
    built["kernel"](tvm.runtime.tensor(given), out)
    return out.numpy()


def keeps_nan(apply: Callable[[Any], Any], shape: Sequence[int]) -> bool:
    """Whether TVM's kernel for `apply` returns NaN for an x that begins with NaN."""
    return bool(np.isnan(run_on_nan(apply, shape, "float32")).any())
