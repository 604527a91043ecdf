"""Normalization with a two-pass variance, and overriding of its legalization.

Stock TOPI computes E[x²] − E[x]² in float32: with a mean of 1000 and a standard deviation of 1, all
significant bits of the variance are lost, and it may become negative (resulting in NaN).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import relax, te, tirx, topi

LEVEL = 11  # registering at the built-in level 10 is an error; 11 wins over it


def two_pass(x: Any, axes: list[int], epsilon: float) -> Any:
    """(x − mean) / sqrt(var + ε) over `axes`, computed in at least float32."""
    dtype = str(x.dtype)
    wide = topi.cast(x, "float32") if dtype in ("float16", "bfloat16") else x
    kind = str(wide.dtype)
    count = _emit.extent([x.shape[axis] for axis in axes])
    count = tirx.Cast(kind, count) if not isinstance(count, int) else tirx.const(count, kind)
    mean = topi.divide(topi.sum(wide, axis=axes, keepdims=True), count)
    near = topi.subtract(wide, mean)
    # Correct the rounding error of the mean, so that a large mean does not cause an offset.
    offset = topi.divide(topi.sum(near, axis=axes, keepdims=True), count)
    centred = topi.subtract(near, offset)
    squares = topi.sum(topi.multiply(centred, centred), axis=axes, keepdims=True)
    variance = topi.divide(squares, count)
    inverse = topi.rsqrt(topi.add(variance, tirx.const(epsilon, kind)))
    return topi.cast(topi.multiply(centred, inverse), dtype)


def affine(x: Any, gamma: Any, beta: Any, channel: Callable[..., Any]) -> Any:
    """x · gamma + beta, both indexed by the channel that `channel` extracts from a position."""
    return te.compute(
        x.shape,
        lambda *at: x(*at) * gamma(channel(*at)) + beta(channel(*at)),
        name="affine",
        tag="elemwise",
    )


def override(op: str, function: Callable[[Any, Any], Any]) -> Callable[[], Callable[[], None]]:
    """An `install` function that replaces FLegalize of an operator, and can restore it."""
    registered = _compat.packed(function)

    def install() -> Callable[[], None]:
        original = _compat.get_legalization(op)
        _compat.set_legalization(op, registered, LEVEL)

        def restore() -> None:
            _compat.set_legalization(op, original, 10)

        return restore

    return install


def reduces_in_one_pass(normalize: Callable[[Any, Any, Any], Any]) -> bool:
    """Whether the registered kernel sums x and x² together (a reduction of two values)."""
    x = relax.Var("x", _compat.tensor_type([1, 2, 8], "float32"))
    weight = relax.Var("weight", _compat.tensor_type([2], "float32"))
    bias = relax.Var("bias", _compat.tensor_type([2], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, weight, bias]):
        builder.emit_func_output(builder.emit(normalize(x, weight, bias)))
    module = relax.transform.LegalizeOps()(builder.get())
    kernels = [str(f) for name, f in module.functions_items() if name.name_hint != "main"]
    return sum(text.count("T.init()") for text in kernels) < 2
