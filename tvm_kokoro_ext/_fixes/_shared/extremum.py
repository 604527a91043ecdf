"""Maxima and minima that keep NaN, as torch's do.

TVM's max(a, b) is `a > b ? a : b`: NaN on the left is dropped. Two values are compared so that NaN
is chosen. Reductions run on integers that are ordered as the numbers are, with NaN beyond them:
TVM's own integer reducer then keeps NaN, and LLVM vectorizes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, tirx, tvm

FLOATS = ("float16", "bfloat16", "float32", "float64")
_KEYS = {"float32": "int32", "float64": "int64"}


def maximum(a: Any, b: Any) -> Any:
    """The larger of two floating point expressions, or the one that is NaN."""
    return tirx.Select(tirx.any(tirx.isnan(a), a > b), a, b)


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two floating point expressions, or the one that is NaN."""
    return tirx.Select(tirx.any(tirx.isnan(a), a < b), a, b)


def key(x: Any, largest: bool) -> Any:
    """An integer that orders as the float does; NaN is beyond every number on the asked side.

    −0 comes before 0. float16 and bfloat16 are ordered as float32.
    """
    x = x if _compat.prim_dtype(x) in _KEYS else tirx.Cast("float32", x)
    dtype = _KEYS[_compat.prim_dtype(x)]
    bits = tirx.reinterpret(dtype, x)
    beyond = tirx.max_value(dtype) if largest else tirx.min_value(dtype)
    return tirx.Select(tirx.isnan(x), beyond, _flipped(bits))


def number(ordered: Any, dtype: str) -> Any:
    """The float that has this key; NaN for the integers beyond every number."""
    kind = next(kind for kind, integer in _KEYS.items() if integer == _compat.prim_dtype(ordered))
    value = tirx.reinterpret(kind, _flipped(ordered))
    return value if kind == dtype else tirx.Cast(dtype, value)


def _flipped(bits: Any) -> Any:
    """The magnitude's bits turned over where the sign bit is set: its own inverse."""
    dtype = _compat.prim_dtype(bits)
    turned = tirx.bitwise_xor(bits, tirx.max_value(dtype))
    return tirx.Select(bits < tirx.const(0, dtype), turned, bits)


def run_on_nan(apply: Callable[[Any], Any], shape: Sequence[int], dtype: str) -> np.ndarray:
    """What the one kernel that TVM makes of `apply(x)` gives for x = [[[NaN, 1, 2, 0]]] float32.

    The kernel, whose result has this shape and dtype, is built and run: some hundredths of a
    second.
    """
    x = relax.Var("x", _compat.tensor_type([1, 1, 4], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(apply(x)))
    module = relax.transform.LegalizeOps()(builder.get())
    (kernel,) = (f for name, f in module.functions_items() if name.name_hint != "main")
    built = tvm.tirx.build(kernel.with_attr("global_symbol", "kernel"), {"kind": "llvm"})
    out = tvm.runtime.tensor(np.zeros(shape, dtype))
    built["kernel"](tvm.runtime.tensor(np.array([[[np.nan, 1, 2, 0]]], "float32")), out)
    return out.numpy()


def keeps_nan(apply: Callable[[Any], Any], shape: Sequence[int]) -> bool:
    """Whether TVM's kernel of `apply` gives NaN for an x that begins with it."""
    return bool(np.isnan(run_on_nan(apply, shape, "float32")).any())
