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
from tvm_kokoro_ext._compat import relax, tirx, tvm

FLOATS = ("float16", "bfloat16", "float32", "float64")
_KEYS = {"float32": "int32", "float64": "int64"}


def is_nan(x: Any) -> Any:
    """Whether a floating point expression is NaN; TVM's own test knows no bfloat16."""
    x = _expression(x)
    if _compat.prim_dtype(x) != "bfloat16":
        return tirx.isnan(x)
    return tirx.bitwise_and(_word(x), tirx.max_value("int16")) > tirx.const(_INFINITY, "int16")


def maximum(a: Any, b: Any) -> Any:
    """The larger of two floating point expressions, or the one that is NaN."""
    return chosen(tirx.any(is_nan(a), less(b, a)), a, b)


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two floating point expressions, or the one that is NaN."""
    return chosen(tirx.any(is_nan(a), less(a, b)), a, b)


def less(a: Any, b: Any) -> Any:
    """Whether a floating point expression is less than another, which is false if one is NaN.

    Numbers in bfloat16 are compared as integers, of which twice as many fit into a vector as of
    float32, which TVM converts them to.
    """
    a, b = _expression(a), _expression(b)
    if _compat.prim_dtype(a) != "bfloat16":
        return a < b
    numbers = tirx.Not(tirx.any(is_nan(a), is_nan(b)))
    return tirx.all(numbers, _signed(_word(a)) < _signed(_word(b)))


def chosen(condition: Any, a: Any, b: Any) -> Any:
    """a or b, floating point expressions of one dtype; bfloat16 is not rounded anew."""
    a, b = _expression(a), _expression(b)
    if _compat.prim_dtype(a) != "bfloat16":
        return tirx.Select(condition, a, b)
    return tirx.reinterpret("bfloat16", tirx.Select(condition, _word(a), _word(b)))


_INFINITY = 0x7F80  # the bits of infinity in bfloat16


def _expression(x: Any) -> Any:
    return x.asobject() if hasattr(x, "asobject") else x  # an element of a TE tensor


def _word(x: Any) -> Any:
    """The bits of a bfloat16."""
    if isinstance(x, tirx.FloatImm):  # TVM does not take the bits of a constant
        bits = int(np.float32(x.value).view("uint32")) >> 16
        return tirx.const(bits - (bits >> 15 << 16), "int16")
    return tirx.reinterpret("int16", x)


def _signed(word: Any) -> Any:
    """An integer with the order of the number that has these bits; that of both zeros is 0."""
    sign = tirx.shift_right(word, tirx.const(15, "int16"))
    size = tirx.bitwise_and(word, tirx.max_value("int16"))
    return tirx.bitwise_xor(size, sign) - sign


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


def run_on_nan(apply: Callable[[Any], Any], shape: Sequence[int], dtype: str) -> np.ndarray:
    """Run TVM's kernel for `apply(x)` on x = [[[NaN, 1, 2, 0]]] float32.

    `shape` and `dtype` are those of the result. Building and running the kernel takes some
    hundredths of a second.
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
    """Whether TVM's kernel for `apply` returns NaN for an x that begins with NaN."""
    return bool(np.isnan(run_on_nan(apply, shape, "float32")).any())
