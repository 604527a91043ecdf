"""Operators of quantized programs: torch's PT2E operators, fake quantization, products of int8."""

import pytest
import torch
import torch.ao.quantization.fx._decomposed
from frontend_cases import Case, fix_tests
from torch import tensor

ops = torch.ops.quantized_decomposed
BYTE = (-128, 127, torch.int8)


def steps(n):
    """Multiples of 0.05: between two quantized values, on them, and outside of their range."""
    return (torch.arange(-12 * n, 12 * n).reshape(6, 4 * n) * 0.05,)


def scales(dtype=torch.float32):
    return tensor([0.1, 0.2, 0.3, 0.05, 0.15, 0.25], dtype=dtype)


PLACES = tensor([0, 1, 2, -3, 4, 5])
GROUPS = torch.arange(1, 13).reshape(6, 2) / 20


def by_numbers(x):
    results = [
        ops.quantize_per_tensor(x, *given)
        for given in (
            (0.1, 3, *BYTE),
            (0.1, 0, 0, 255, torch.uint8),
            (0.05, 3, -8, 7, torch.int8),
            (0.001, 7, -32768, 32767, torch.int16),
        )
    ]
    return *results, ops.quantize_per_tensor(x.half(), 0.1, 3, *BYTE)


def back_by_numbers(x):
    whole = (x * 20).to(torch.int8)
    wide = ops.dequantize_per_tensor(whole, 0.1, 3, *BYTE)
    return wide, ops.dequantize_per_tensor(whole, 0.1, 3, *BYTE, out_dtype=torch.float16)


def by_tensors(x):
    wide = tensor([0.07], dtype=torch.float64)
    whole = x.to(torch.int8)
    return (
        ops.quantize_per_tensor.tensor(x, tensor(0.1), tensor(3), *BYTE),
        ops.quantize_per_tensor.tensor(x, wide, tensor([3]), *BYTE),
        ops.quantize_per_tensor.tensor2(
            x, tensor(0.1), tensor(3), tensor(-12), tensor(17), torch.int8
        ),
        ops.dequantize_per_tensor.tensor(whole, tensor(0.1), tensor(3), *BYTE),
        ops.dequantize_per_tensor.tensor(
            whole, wide, tensor([3]), *BYTE, out_dtype=torch.bfloat16
        ).to(torch.float32),
    )


def chosen(x):
    parameters = [
        *ops.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8),
        *ops.choose_qparams.tensor(x[:1] * 0 + 3, 0, 255, 1e-5, torch.uint8),
        *ops.choose_qparams.tensor(x[:1].half() * 0 - 3, 0, 255, 1e-5, torch.uint8),
        *ops.choose_qparams.tensor(x * 0, 0, 255, 1e-5, torch.uint8),
        *ops.choose_qparams_symmetric.tensor(x, -127, 127, 1e-5, torch.int8),
        *ops.choose_qparams_symmetric.tensor(x - 1, 0, 255, 1e-5, torch.uint8),
    ]
    whole = ops.quantize_per_tensor.tensor(x, *parameters[:2], *BYTE)
    return *parameters, ops.dequantize_per_tensor.tensor(whole, *parameters[:2], *BYTE)


def of_channels(x):
    whole = x.to(torch.int8)
    return (
        ops.quantize_per_channel(x, scales(), PLACES, 0, *BYTE),
        ops.quantize_per_channel(x.T, scales(torch.float64), PLACES, 1, -8, 7, torch.int8),
        ops.dequantize_per_channel(whole, scales(), PLACES, 0, *BYTE),
        ops.dequantize_per_channel(whole.T, scales(), None, 1, *BYTE, out_dtype=torch.float16),
    )


def of_rows(x):
    scale, place = ops.choose_qparams_per_token_asymmetric(x, torch.int8)
    whole = ops.quantize_per_token(x, scale, place, *BYTE)
    return scale, place, whole, ops.dequantize_per_token(whole, scale, place, *BYTE, torch.float32)


def of_groups(x):
    whole, places = x.to(torch.int8), torch.arange(-6, 6).reshape(6, 2)
    bounds = (-8, 7, torch.int8)
    size = x.shape[1] // 2
    return (
        ops.quantize_per_channel_group(x, GROUPS, places, *bounds, size),
        ops.dequantize_per_channel_group(whole, GROUPS, places, *bounds, size, torch.float32),
        ops.dequantize_per_channel_group(whole, GROUPS[:, :1], None, *bounds, 999, torch.float16),
    )


def faked(x):
    place = tensor(3, dtype=torch.int32)
    return (
        torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -10, 20),
        torch.fake_quantize_per_tensor_affine(x, tensor(0.1), place, -10, 20),
        torch.fake_quantize_per_channel_affine(x, scales(), PLACES.to(torch.int32), 0, -8, 7),
    )


STATIC = {"symbolic": (False,)}
QUANTIZED = [
    Case("tensor", by_numbers, steps),
    Case("tensor_back", back_by_numbers, steps),
    Case("tensor_by_tensors", by_tensors, steps),
    Case("chosen", chosen, steps),
    Case("channels", of_channels, steps),
    Case("rows", of_rows, steps),
    Case("groups", of_groups, steps, **STATIC),
    Case("fake", faked, steps, **STATIC),  # torch exports no symbolic sizes of it
    Case(
        "int_mm",
        lambda x: torch._int_mm(x, x.T),
        lambda n: (torch.randint(-128, 127, (32, 64)).to(torch.int8),),
    ),
]
pytestmark = pytest.mark.filterwarnings("ignore")
test_quantized, test_quantized_stock = fix_tests("decompose", QUANTIZED)
