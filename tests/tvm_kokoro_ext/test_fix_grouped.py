"""Matrix products of groups of rows: the experts of a mixture."""

import contextlib
import importlib

import pytest
import torch
from frontend_cases import Case, export, fix_tests, import_program

from tvm_kokoro_ext import UnsupportedOperatorError

HALF = {"tolerance": 1e-2}
WEIGHT = torch.randn(3, 16, 24, generator=torch.Generator().manual_seed(0))


def operator_of_transformers():
    """The operator, which versions of transformers before 5 do not have."""
    with contextlib.suppress(ImportError):
        importlib.import_module("transformers.integrations.moe")
    if hasattr(torch.ops.transformers, "grouped_mm_fallback"):
        return torch.ops.transformers.grouped_mm_fallback

    @torch.library.custom_op("transformers::grouped_mm_fallback", mutates_args=())
    def fallback(input: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
        output, start = input.new_zeros(input.size(0), weight.size(2)), 0
        for group, end in enumerate(offs.tolist()):
            output[start:end] = input[start:end] @ weight[group]
            start = end
        return output

    fallback.register_fake(lambda x, weight, offs: x.new_empty(x.size(0), weight.size(2)))
    return torch.ops.transformers.grouped_mm_fallback


def of_transformers(dtype=torch.float32):
    multiply = operator_of_transformers()
    return lambda x, ends: multiply(x.to(dtype), WEIGHT.to(dtype), ends)


def of_torch(x, ends):
    wide = torch._grouped_mm(x.bfloat16(), WEIGHT.bfloat16(), offs=ends)
    return wide.float()


def by_columns(x, ends):  # a weight stored with its columns together, as models have it
    weight = WEIGHT.bfloat16().mT.contiguous().mT
    return torch._grouped_mm(x.bfloat16(), weight, offs=ends).float()


def batches(x):
    return torch._grouped_mm(x.bfloat16(), WEIGHT.bfloat16()).float()


def ends(*places, dtype=torch.int32):
    return lambda n: (torch.randn(n, 16), torch.tensor([min(p, n) for p in places], dtype=dtype))


test_equals_torch, test_stock_is_wrong = fix_tests(
    "grouped_matmul",
    [
        Case("fallback", of_transformers(), ends(2, 5, 99)),
        Case("fallback_int64", of_transformers(), ends(2, 5, 99, dtype=torch.int64)),
        Case("empty_group", of_transformers(), ends(0, 4, 99)),
        Case("first_only", of_transformers(), ends(99, 99, 99)),
        Case("rows_of_no_group", of_transformers(), ends(1, 2, 4)),
        Case("fallback_half", of_transformers(torch.float16), ends(2, 5, 99), **HALF),
        Case("torch", of_torch, ends(2, 2, 99), **HALF),
        Case("columns", by_columns, ends(2, 5, 99), **HALF),
        Case("batches", batches, lambda n: (torch.randn(3, 8, 16),), symbolic=(False,), **HALF),
    ],
)


def test_groups_of_columns_are_refused_by_name():
    def function(x, ends):
        return torch._grouped_mm(x.bfloat16(), WEIGHT[0].bfloat16(), offs=ends)

    program = export(
        Case("columns", function, lambda n: (torch.randn(8, 16), torch.tensor([8, 16]).int())),
        symbolic=False,
    )
    with pytest.raises(UnsupportedOperatorError, match=r"_grouped_mm.*2-d and 2-d.*one by one"):
        import_program(program, decomposed=False)
