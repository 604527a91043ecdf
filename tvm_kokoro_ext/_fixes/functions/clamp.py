"""clamp, clamp_min, clamp_max: integer tensors, one bound, tensor and symbolic bounds.

Stock clips an integer tensor to ±inf if a bound is missing (wrong values, or an error in 0.27),
reads the bound of clamp_max from the wrong argument, and does not support symbolic bounds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix


def _clamp(importer: Any, node: Any, lower: Any, upper: Any) -> Any:
    x = importer.retrieve_args(node)[0]
    dtype = _emit.result_dtype(importer, node) or _compat.dtype_of(x)
    x = _emit.astype(importer, x, dtype)
    if _is_nan(lower) or _is_nan(upper):
        number = relax.const(math.nan, dtype)
        return _emit.emit(importer, relax.op.full_like(x, number, dtype=dtype))
    lower, upper = (_wrapped(node, bound, dtype) for bound in (lower, upper))
    numbers = [b for b in (lower, upper) if isinstance(b, int | float)]
    plain = all(b is None or isinstance(b, int | float) for b in (lower, upper))
    if plain and not _crossed(lower, upper) and ("float" in dtype or len(numbers) == 2):
        lower = -math.inf if lower is None else lower
        upper = math.inf if upper is None else upper
        return _emit.emit(importer, relax.op.clip(x, lower, upper))
    if lower is not None:
        bound = _emit.tensor_or_scalar(importer, lower, dtype)
        x = _emit.emit(importer, relax.op.maximum(x, bound))
    if upper is not None:
        bound = _emit.tensor_or_scalar(importer, upper, dtype)
        x = _emit.emit(importer, relax.op.minimum(x, bound))
    return x


def _is_nan(bound: Any) -> bool:
    """Whether a bound is the number NaN, which makes every element NaN."""
    return isinstance(bound, float) and math.isnan(bound)


def _crossed(lower: Any, upper: Any) -> bool:
    """Two numbers, the lower above the upper: torch gives the upper, TVM's clip the lower."""
    return all(isinstance(b, int | float) for b in (lower, upper)) and lower > upper


def _wrapped(node: Any, bound: Any, dtype: str) -> Any:
    """A bound; a negative one of unsigned integers is counted from the end of their range.

    Raises
    ------
    UnsupportedOperatorError
        If integers of this dtype do not hold the bound, for which PyTorch raises as well.
    """
    if not isinstance(bound, int) or isinstance(bound, bool) or "int" not in dtype:
        return bound
    limits = np.iinfo(dtype)
    least = -int(limits.max) if limits.min == 0 else int(limits.min)
    if not least <= bound <= limits.max:
        reason = f"the bound {bound}, which {dtype} does not hold, and for which PyTorch raises"
        raise _emit.refuse(node, reason, f"Leave it out, or take a bound that {dtype} holds")
    return bound % (int(limits.max) + 1) if limits.min == 0 else bound


def clamp(importer: Any, node: Any, previous: Any) -> Any:
    x, lower, upper = _emit.arguments(importer, node, "self", "min", "max")
    if previous is not None and _stock_is_right(importer, node, x, lower, upper):
        return previous(node)
    return _clamp(importer, node, lower, upper)


def clamp_min(importer: Any, node: Any, previous: Any) -> Any:
    x, lower = _emit.arguments(importer, node, "self", "min")
    if previous is not None and _stock_is_right(importer, node, x, lower, None):
        return previous(node)
    return _clamp(importer, node, lower, None)


def clamp_max(importer: Any, node: Any, previous: Any) -> Any:
    _, upper = _emit.arguments(importer, node, "self", "max")
    return _clamp(importer, node, None, upper)


def _stock_is_right(importer: Any, node: Any, x: Any, lower: Any, upper: Any) -> bool:
    """Whether a floating-point tensor is clamped by numbers or tensors of the same dtype."""
    dtype = _compat.dtype_of(x)
    bounds = [bound for bound in (lower, upper) if bound is not None]
    tensors = [bound for bound in bounds if _compat.is_tensor(bound)]
    return (
        "float" in dtype
        and not _crossed(lower, upper)
        and not any(map(_is_nan, bounds))
        and _emit.result_dtype(importer, node) in (None, dtype)
        and not any(_compat.is_prim(bound) for bound in bounds)
        and all(_compat.dtype_of(bound) == dtype for bound in tensors)
        and all(_fits(_compat.shape_of(bound), _compat.shape_of(x)) for bound in tensors)
    )


def _fits(bound: list[Any], shape: list[Any]) -> bool:
    """Whether the bound broadcasts to the tensor without changing the shape of the tensor."""
    if len(bound) > len(shape):
        return False
    pairs = zip(reversed(bound), reversed(shape), strict=False)
    return all(_compat.prim_equal(_emit.int64(b), _emit.int64(s)) or b == 1 for b, s in pairs)


@_probe.wrong
def _still_wrong() -> bool:
    x = _probe.Input((4,), "int64")
    one_bound = _probe.convert("clamp.default", x, 1, out=((4,), "int64"))
    upper = _probe.convert("clamp_max.default", _probe.Input((4,)), 1.0, out=((4,), "float32"))
    symbolic = _probe.convert("clamp.default", x, 0, _probe.Symbol("n"), out=((4,), "int64"))
    unbounded = "inf" in str(upper.value)
    to_nan = _probe.convert(
        "clamp.default", _probe.Input((4,)), math.nan, 1.0, out=((4,), "float32")
    )
    clipped = one_bound.ops == ("relax.clip",) or "relax.clip" in to_nan.ops
    return clipped or unbounded or symbolic.dtype != "int64"


FIX = Fix(
    id="clamp",
    what="clamp of integers with one bound, clamp_max's bound, symbolic and tensor bounds",
    op="aten.clamp, aten.clamp_min, aten.clamp_max",
    affected="",
    converters={
        "clamp.default": clamp,
        "clamp.Tensor": clamp,
        "clip.default": clamp,
        "clip.Tensor": clamp,
        "clamp_min.default": clamp_min,
        "clamp_min.Tensor": clamp_min,
        "clamp_max.default": clamp_max,
        "clamp_max.Tensor": clamp_max,
    },
    probe=_probe.any_of(
        _still_wrong,
        _probe.lacks("clip.default", "clip.Tensor", "clamp_min.Tensor", "clamp_max.Tensor"),
    ),
)
