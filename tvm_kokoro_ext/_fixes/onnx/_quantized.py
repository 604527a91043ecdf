"""Integers for reals: quantizing, dequantizing, products and convolutions that add up in int32.

A quantized number q stands for (q - zero point) · scale. Scales and zero points are scalars, one
for each place of an axis, or one for each block of places along it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fixes.onnx import _frontend, auto_pad

_LIMITS = {
    "uint8": (0, 255),
    "int8": (-128, 127),
    "uint16": (0, 65535),
    "int16": (-32768, 32767),
}


INTEGERS = (*_LIMITS, "int32")
"""Dtypes of quantized tensors."""


def optional(inputs: Any, at: int) -> Any:
    """An input of a node; None if it is left out."""
    return inputs[at] if at < len(inputs) else None


def _place(tensor: Any, at: Sequence[Any], axis: int, block: int) -> Any:
    """The scale or zero point of the element `at`."""
    if len(tensor.shape) == 0:
        return tensor()
    if len(tensor.shape) == 1:
        return tensor[0 if _compat.as_int(tensor.shape[0]) == 1 else at[axis]]
    return tensor(*[i // block if d == axis else i for d, i in enumerate(at)])


def _axis(x: Any, attr: Mapping[str, Any]) -> tuple[int, int]:
    """The axis of scales, and the number of places that share one."""
    rank = _compat.rank_of(x)
    axis = int(attr.get("axis", 1))
    return axis % rank if rank > 1 else 0, int(attr.get("block_size", 0)) or 1


def quantize(
    bb: Any, x: Any, scale: Any, zero: Any, dtype: str, attr: Mapping[str, Any], operator: str
) -> Any:
    """x / scale rounded to even, plus the zero point, within the limits of the dtype."""
    if dtype not in _LIMITS:
        raise _frontend.refusal(
            operator, f"it gives {dtype}", f"Quantize to one of {', '.join(_LIMITS)}"
        )
    axis, block = _axis(x, attr)
    least, most = (tirx.const(float(limit), "float32") for limit in _LIMITS[dtype])

    def compute(x: Any, scale: Any, *zero: Any) -> Any:
        def element(*at: Any) -> Any:
            quotient = x(*at).astype("float32") / _place(scale, at, axis, block).astype("float32")
            whole = tirx.nearbyint(quotient.astype(str(scale.dtype)).astype("float32"))
            for place in zero:
                whole += _place(place, at, axis, block).astype("float32")
            return tirx.min(tirx.max(whole, least), most).astype(dtype)

        return te.compute(x.shape, element, name="quantize")

    zeros = [] if zero is None else [zero]
    return bb.emit_te(compute, x, scale, *zeros, primfunc_name_hint="quantize")


def dequantize(bb: Any, x: Any, scale: Any, zero: Any, dtype: str, attr: Mapping[str, Any]) -> Any:
    """(x - zero point) · scale."""
    axis, block = _axis(x, attr)

    def compute(x: Any, scale: Any, *zero: Any) -> Any:
        def element(*at: Any) -> Any:
            whole = x(*at).astype("int32")
            for place in zero:
                whole -= _place(place, at, axis, block).astype("int32")
            real = whole.astype("float32") * _place(scale, at, axis, block).astype("float32")
            return real.astype(dtype)

        return te.compute(x.shape, element, name="dequantize")

    zeros = [] if zero is None else [zero]
    return bb.emit_te(compute, x, scale, *zeros, primfunc_name_hint="dequantize")


def dynamically(bb: Any, x: Any) -> tuple[Any, Any, Any]:
    """x as uint8 over its range, which includes 0, with its scale and zero point.

    The scale of a tensor without a range is 1, and every zero is its zero point.
    """
    dtype, emit = _compat.dtype_of(x), bb.emit
    zero, one, most = (relax.const(number, dtype) for number in (0, 1, 255))
    high = emit(relax.op.maximum(zero, emit(relax.op.max(x))))
    low = emit(relax.op.minimum(zero, emit(relax.op.min(x))))
    spread = emit(relax.op.subtract(high, low))
    scale = emit(
        relax.op.where(emit(relax.op.equal(spread, zero)), one, emit(relax.op.divide(spread, most)))
    )
    place = emit(relax.op.subtract(zero, emit(relax.op.divide(low, scale))))
    rounded = emit(relax.op.round(emit(relax.op.clip(place, 0, 255))))
    zero_point = emit(relax.op.astype(rounded, "uint8"))
    quantized = quantize(bb, x, scale, zero_point, "uint8", {}, "DynamicQuantizeLinear")
    return quantized, scale, zero_point


def shifted(bb: Any, x: Any, zero: Any) -> Any:
    """x - zero point in int32, for a zero point that broadcasts."""
    wide = bb.emit(relax.op.astype(x, "int32"))
    if zero is None:
        return wide
    return bb.emit(relax.op.subtract(wide, bb.emit(relax.op.astype(zero, "int32"))))


def by_rows(bb: Any, value: Any, *factors: Any) -> Any:
    """Numbers of the rows of a product, [rows], so that they broadcast.

    The product of a matrix and a vector has one axis, on which the numbers are already.
    """
    if value is None or _compat.rank_of(value) != 1 or 1 in map(_compat.rank_of, factors):
        return value
    return bb.emit(relax.op.expand_dims(value, -1))


def product(bb: Any, a: Any, a_zero: Any, b: Any, b_zero: Any) -> Any:
    """(a - its zero points) · (b - its zero points) in int32."""
    left, right = shifted(bb, a, by_rows(bb, a_zero, a)), shifted(bb, b, b_zero)
    return bb.emit(relax.op.matmul(left, right, out_dtype="int32"))


def by_channels(bb: Any, value: Any, before: int, after: int) -> Any:
    """Numbers of channels, [channels], with axes before and after; scalars unchanged."""
    if value is None or _compat.rank_of(value) == 0:
        return value
    return bb.emit(relax.op.reshape(value, [1] * before + [-1] + [1] * after))


def convolution(bb: Any, x: Any, weight: Any, attr: Mapping[str, Any], operator: str) -> Any:
    """The convolution of two tensors of one dtype, by the attributes of ONNX's Conv."""
    rank = _compat.rank_of(x) - 2
    if rank not in (1, 2, 3):
        raise _frontend.refusal(
            operator, f"it has {rank} spatial axes, and TVM's have 1 to 3", "Reshape its input"
        )
    letters = "DHW"[3 - rank :]
    kernel = list(attr.get("kernel_shape") or _compat.shape_of(weight)[2:])
    mode = attr.get("auto_pad", b"NOTSET")
    mode = mode.decode() if isinstance(mode, bytes) else mode
    pads = list(attr.get("pads") or [0] * 2 * rank)
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        pads = auto_pad.amounts(operator, mode, _compat.shape_of(x)[2:], kernel, attr)
    convolve = (relax.op.nn.conv1d, relax.op.nn.conv2d, relax.op.nn.conv3d)[rank - 1]
    made = convolve(
        x,
        weight,
        strides=list(attr.get("strides") or [1] * rank),
        padding=[0] * 2 * rank if mode == "VALID" else pads,
        dilation=list(attr.get("dilations") or [1] * rank),
        groups=int(attr.get("group", 1)),
        data_layout=f"NC{letters}",
        kernel_layout=f"OI{letters}",
    )
    return bb.emit(made)


def convolved(
    bb: Any, x: Any, x_zero: Any, weight: Any, w_zero: Any, attr: Mapping[str, Any], operator: str
) -> Any:
    """The convolution of integers in int32; what is padded stands for 0."""
    rank = _compat.rank_of(x) - 2
    own = by_channels(bb, w_zero, 0, rank + 1)
    return convolution(
        bb, shifted(bb, x, _scalar(bb, x_zero)), shifted(bb, weight, own), attr, operator
    )


def _scalar(bb: Any, value: Any) -> Any:
    """A tensor of one element as a scalar."""
    if value is None or _compat.rank_of(value) == 0:
        return value
    return bb.emit(relax.op.reshape(value, []))


def real(bb: Any, whole: Any, *scales: Any) -> Any:
    """An int32 result times the product of scales that broadcast, in float32."""
    return bb.emit(
        relax.op.multiply(bb.emit(relax.op.astype(whole, "float32")), times(bb, *scales))
    )


def times(bb: Any, *scales: Any) -> Any:
    """The product of scales in float32."""
    made = bb.emit(relax.op.astype(scales[0], "float32"))
    for scale in scales[1:]:
        made = bb.emit(relax.op.multiply(made, bb.emit(relax.op.astype(scale, "float32"))))
    return made


def requantize(
    bb: Any, whole: Any, factor: Any, scale: Any, zero: Any, dtype: str, operator: str
) -> Any:
    """An int32 result times factor / scale, as a quantized tensor of that scale."""
    ratio = bb.emit(relax.op.divide(factor, bb.emit(relax.op.astype(scale, "float32"))))
    one = relax.const(1.0, "float32")
    return quantize(bb, real(bb, whole, ratio), one, zero, dtype, {"axis": 0}, operator)
