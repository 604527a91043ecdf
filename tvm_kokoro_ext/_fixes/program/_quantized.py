"""Our own decompositions of operators of quantized programs.

`quantized_decomposed` are the operators of torch's PT2E quantization, whose kernels are Python
functions that read scales as numbers, which a program for any input cannot. Each function here
takes all arguments of its operator and computes the same, in the same dtypes and with the same
roundings; integers are returned in the `dtype` that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _along(parameter: Any, x: Any, axis: int) -> Any:
    """One number for each channel, in the shape that broadcasts along this axis of x."""
    return parameter.reshape([-1 if at == axis % x.dim() else 1 for at in range(x.dim())])


def _number(value: Any, dtype: Any) -> Any:
    """A number, or a tensor of one element as a tensor without dimensions of this dtype."""
    return value.reshape(()).to(dtype) if hasattr(value, "reshape") else value


def _bounded(x: Any, lower: Any, upper: Any) -> Any:
    import torch

    if hasattr(lower, "reshape"):
        lower, upper = (bound.reshape(()).to(x.dtype) for bound in (lower, upper))
        return torch.minimum(torch.maximum(x, lower), upper)
    return x.clamp(lower, upper)


def quantize_per_tensor(
    x: Any, scale: Any, zero_point: Any, lower: Any, upper: Any, dtype: Any
) -> Any:
    """Torch divides 1 by the scale in float64, and multiplies floats of 32 bits."""
    import torch

    x = x.to(torch.float32)
    inverse = 1.0 / _number(scale, torch.float64)
    shifted = (x * _number(inverse, torch.float32)).round() + _number(zero_point, torch.float32)
    return _bounded(shifted, lower, upper).to(dtype)


def dequantize_per_tensor(
    x: Any,
    scale: Any,
    zero_point: Any,
    lower: Any,
    upper: Any,
    dtype: Any,
    *,
    out_dtype: Any = None,
) -> Any:
    import torch

    made = out_dtype or torch.float32
    # A scale without dimensions counts as a number, which is not rounded to half precision.
    return ((x.to(made) - _number(zero_point, made)) * _number(scale, torch.float64)).to(made)


def choose_qparams(x: Any, lower: int, upper: int, epsilon: float, dtype: Any) -> Any:
    """The scale (float64 [1]) and zero point (int64 [1]) that fit all elements and zero."""
    import torch

    least, most = _range_with_zero(x)
    scale = (most - least) / float(upper - lower)
    scale = torch.maximum(scale.to(torch.float32), torch.scalar_tensor(epsilon))
    place = lower - (least / scale).round().to(torch.int32)
    return _parameters(scale, place.clamp(lower, upper))


def choose_qparams_symmetric(x: Any, lower: int, upper: int, epsilon: float, dtype: Any) -> Any:
    """The scale and zero point of a range whose middle is zero."""
    import torch

    least, most = _range_with_zero(x)
    scale = torch.maximum(-least, most) / (float(upper - lower) / 2)
    scale = torch.maximum(scale.to(torch.float32), torch.scalar_tensor(epsilon))
    place = torch.scalar_tensor(128 if dtype is torch.uint8 else 0, dtype=torch.int64)
    return _parameters(scale, place)


def _range_with_zero(x: Any) -> tuple[Any, Any]:
    return x.amin().clamp(max=0), x.amax().clamp(min=0)


def _parameters(scale: Any, place: Any) -> tuple[Any, Any]:
    import torch

    return scale.to(torch.float64).reshape(1), place.to(torch.int64).reshape(1)


def quantize_per_channel(
    x: Any, scales: Any, zero_points: Any, axis: int, lower: int, upper: int, dtype: Any
) -> Any:
    import torch

    scaled = (x.to(torch.float32) * (1.0 / _along(scales, x, axis))).round()
    return (scaled + _along(zero_points, x, axis)).clamp(lower, upper).to(dtype)


def dequantize_per_channel(
    x: Any,
    scales: Any,
    zero_points: Any,
    axis: int,
    lower: int,
    upper: int,
    dtype: Any,
    *,
    out_dtype: Any = None,
) -> Any:
    import torch

    if zero_points is not None:
        x = x - _along(zero_points, x, axis)
    return (x * _along(scales, x, axis)).to(out_dtype or torch.float32)


def choose_qparams_per_token(x: Any, dtype: Any) -> tuple[Any, Any]:
    """Scales of rows whose middle is zero, and zeros; both in x's dtype, or float32 for float16."""
    import torch

    scales = x.abs().amax(-1, keepdim=True)
    scales = scales.to(torch.float32) if scales.dtype == torch.float16 else scales
    scales = scales.clamp(min=1e-5) / 127
    return scales, torch.zeros_like(scales)


def choose_qparams_per_token_asymmetric(x: Any, dtype: Any) -> tuple[Any, Any]:
    """Scales (float64) and zero points (int64) of rows, of whichever end rounds less."""
    import torch

    least = x.amin(-1, keepdim=True).clamp(max=0)
    most = x.amax(-1, keepdim=True).clamp(min=0)
    scale = ((most - least) / 255.0).clamp(min=torch.finfo(torch.float32).eps)
    low, high = least / scale, most / scale
    place = torch.where((-128 + low) + (127 + high) > 0, -128 - low, 127 - high)
    return scale.to(torch.float64), place.clamp(-128, 127).round().to(torch.int64)


def quantize_per_token(
    x: Any, scales: Any, zero_points: Any, lower: int, upper: int, dtype: Any
) -> Any:
    return (x * (1.0 / scales) + zero_points).round().clamp(lower, upper).to(dtype)


def dequantize_per_token(
    x: Any, scales: Any, zero_points: Any, lower: int, upper: int, dtype: Any, output_dtype: Any
) -> Any:
    return ((x - zero_points) * scales).to(output_dtype)


def quantize_per_channel_group(
    x: Any, scales: Any, zero_points: Any, lower: int, upper: int, dtype: Any, group_size: int = 128
) -> Any:
    rows = _grouped(x, scales, group_size)
    places = rows * (1.0 / scales.reshape(-1, 1)) + zero_points.reshape(-1, 1)
    return places.round().clamp(lower, upper).to(dtype).reshape(x.shape)


def dequantize_per_channel_group(
    x: Any,
    scales: Any,
    zero_points: Any,
    lower: int,
    upper: int,
    dtype: Any,
    group_size: int = 128,
    output_dtype: Any = None,
) -> Any:
    import torch

    rows = _grouped(x, scales, group_size)
    if zero_points is not None:
        rows = rows - zero_points.reshape(-1, 1)
    made = (rows * scales.reshape(-1, 1)).reshape(x.shape)
    return made.to(output_dtype or torch.float32)


def _grouped(x: Any, scales: Any, size: int) -> Any:
    """The groups of a matrix's rows, one a row; a group larger than a row is the row."""
    single = scales.shape[-1] == 1 and size > x.shape[-1]
    return x.reshape(-1, x.shape[-1] if single else size)


def fake_quantize(x: Any, scale: Any, zero_point: Any, lower: int, upper: int) -> Any:
    """What quantized values stand for, and which of them lie between the bounds."""
    import torch

    wide = x.to(torch.float32)
    inverse = 1.0 / scale if isinstance(scale, float) else (1.0 / scale.to(torch.float32))
    place = (wide * inverse).round() + zero_point
    inside = (place >= lower) & (place <= upper)
    return ((place.clamp(lower, upper) - zero_point) * scale).to(x.dtype), inside


def fake_quantize_by_tensors(
    x: Any, scale: Any, zero_point: Any, enabled: Any, lower: int, upper: int
) -> Any:
    """Nothing changes where `enabled` is 0."""
    import torch

    made, inside = fake_quantize(x, scale.reshape(()), zero_point.reshape(()), lower, upper)
    on = enabled.reshape(()) != 0
    return torch.where(on, made, x), inside | ~on


def fake_quantize_per_channel(
    x: Any, scale: Any, zero_point: Any, axis: int, lower: int, upper: int
) -> Any:
    return fake_quantize(x, _along(scale, x, axis), _along(zero_point, x, axis), lower, upper)


def int_mm(x: Any, y: Any) -> Any:
    """The product of matrices of int8, summed in int32."""
    import torch

    return x.to(torch.int32) @ y.to(torch.int32)


#: By the name of an operator with its namespace.
OWN: dict[str, Callable[..., Any]] = {
    "aten._int_mm.default": int_mm,
    "aten.fake_quantize_per_tensor_affine_cachemask.default": fake_quantize,
    "aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default": (
        fake_quantize_by_tensors
    ),
    "aten.fake_quantize_per_channel_affine_cachemask.default": fake_quantize_per_channel,
    "quantized_decomposed.quantize_per_tensor.default": quantize_per_tensor,
    "quantized_decomposed.quantize_per_tensor.tensor": quantize_per_tensor,
    "quantized_decomposed.quantize_per_tensor.tensor2": quantize_per_tensor,
    "quantized_decomposed.dequantize_per_tensor.default": dequantize_per_tensor,
    "quantized_decomposed.dequantize_per_tensor.tensor": dequantize_per_tensor,
    "quantized_decomposed.dequantize_per_tensor.tensor2": dequantize_per_tensor,
    "quantized_decomposed.choose_qparams.tensor": choose_qparams,
    "quantized_decomposed.choose_qparams_symmetric.tensor": choose_qparams_symmetric,
    "quantized_decomposed.quantize_per_channel.default": quantize_per_channel,
    "quantized_decomposed.dequantize_per_channel.default": dequantize_per_channel,
    "quantized_decomposed.choose_qparams_per_token.default": choose_qparams_per_token,
    "quantized_decomposed.choose_qparams_per_token_asymmetric.default": (
        choose_qparams_per_token_asymmetric
    ),
    "quantized_decomposed.quantize_per_token.default": quantize_per_token,
    "quantized_decomposed.dequantize_per_token.default": dequantize_per_token,
    "quantized_decomposed.quantize_per_channel_group.default": quantize_per_channel_group,
    "quantized_decomposed.dequantize_per_channel_group.default": dequantize_per_channel_group,
}
