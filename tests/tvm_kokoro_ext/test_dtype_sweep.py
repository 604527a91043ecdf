"""Operators in float16, bfloat16, float64 and the integers: what is added up is so in a wider type.

The operators are in `dtype_sweep_rows`, the criterion in `dtype_sweep`; what became of each is
printed by `python tests/tvm_kokoro_ext/dtype_sweep_report.py`.
"""

from __future__ import annotations

import zlib
from typing import Any

import pytest
import torch
from dtype_sweep import HALVES, Outcome, Row, Variant, compare, expected, judge, name_of, variants
from dtype_sweep_rows import all_rows
from frontend_cases import state_of

import tvm_kokoro_ext
from tvm_kokoro_ext import State

#: Rows that every run of the tests takes, static and decomposed, in half precision or int8.
QUICK = (
    "matmul",
    "linear_bias",
    "einsum_two_axes",
    "conv2d_bias",
    "conv_transpose1d_bias",
    "lstm_cell",
    "sum_dim",
    "var",
    "softmax",
    "cumsum",
    "layer_norm_affine",
    "avg_pool2d",
    "attention",
    "mse_loss",
    "scatter_add",
    "int_sum",
)
ROWS = {row.name: row for row in all_rows()}
HALF = pytest.mark.parametrize("dtype", HALVES, ids=name_of)


def _is_quick(variant: Variant) -> bool:
    kinds = variant.kind == "static-ep" and variant.dtype in (*HALVES, torch.int8)
    return kinds and variant.row.name in QUICK


#: One variant of every second row is in the tier `slow`; all others are in `sweep`, which takes an
#: hour. Which ones follows from their names, so that they are the same in every run.
EVERY = 2


def _number(name: str) -> int:
    return zlib.crc32(name.encode())


def _parameters() -> list[Any]:
    parameters = []
    for row in ROWS.values():
        of_row = list(variants([row]))
        chosen = min(of_row, key=lambda variant: _number(variant.id))
        for variant in of_row:
            slow = variant is chosen and _number(row.name) % EVERY == 0
            mark = () if _is_quick(variant) else pytest.mark.slow if slow else pytest.mark.sweep
            parameters.append(pytest.param(variant, id=variant.id, marks=mark))
    return parameters


@pytest.mark.parametrize("variant", _parameters())
def test_dtype(variant: Variant) -> None:
    verdict = judge(variant)
    if verdict.outcome in (Outcome.NO_EAGER, Outcome.NO_EXPORT) and variant.is_lacking():
        pytest.skip(verdict.reason)
    refused = Outcome.REFUSED if variant.is_refused() else Outcome.RIGHT
    assert verdict.outcome is refused, verdict.reason


def test_rows_have_names_of_their_own() -> None:
    assert len(ROWS) == len(all_rows())
    assert set(QUICK) <= set(ROWS)


# --- the criterion ------------------------------------------------------------------------


def _variant(name: str, dtype: torch.dtype) -> Variant:
    return next(v for v in variants([ROWS[name]]) if v.dtype is dtype)


@HALF
def test_sums_in_half_precision_are_wrong(dtype: torch.dtype) -> None:
    case = _variant("sum_dim", dtype).case
    eager, true = expected(ROWS["sum_dim"], case, 6)
    total = torch.zeros(3, dtype=dtype)
    for column in case.inputs(6)[0].unbind(1):
        total += column
    assert compare([total], eager, true).outcome is Outcome.WRONG
    assert compare(eager, eager, true).outcome is Outcome.RIGHT


@HALF
def test_products_in_half_precision_are_wrong(dtype: torch.dtype) -> None:
    case = _variant("mv", dtype).case
    eager, true = expected(ROWS["mv"], case, 6)
    matrix, vector = case.inputs(6)
    total = torch.zeros(6, dtype=dtype)
    for column, factor in zip(matrix.unbind(1), vector, strict=True):
        total += column * factor
    assert compare([total], eager, true).outcome is Outcome.WRONG


@HALF
def test_results_are_held_to_dtype_shape_and_finiteness(dtype: torch.dtype) -> None:
    eager = [torch.tensor([1.0, float("inf"), float("nan")], dtype=dtype)]
    true = [eager[0].double()]
    assert compare(eager, eager, true).outcome is Outcome.RIGHT
    off = eager[0].clone()
    for place, number in ((0, float("nan")), (1, 1.0), (2, 1.0), (0, 1.0 + 4 * float(_eps(dtype)))):
        other = off.clone()
        other[place] = number
        assert compare([other], eager, true).outcome is Outcome.WRONG
    for other in (off.float(), off[None], off[:2]):
        assert compare([other], eager, true).outcome is Outcome.WRONG
    assert compare([], eager, true).outcome is Outcome.WRONG


def _eps(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).eps


@HALF
@pytest.mark.parametrize("name", ["sum_dim", "cumsum"])
def test_stock_is_wrong(name: str, dtype: torch.dtype) -> None:
    if state_of("half_precision") is State.NOT_NEEDED:
        pytest.skip("this TVM has no such defect")
    with tvm_kokoro_ext.disabled("all"):
        assert judge(_variant(name, dtype)).outcome is not Outcome.RIGHT


def test_what_is_refused_or_lacking_is_said_of_rows_that_run() -> None:
    for row in ROWS.values():
        found = list(variants([row]))
        for pattern in (*row.refused, *([row.lacking] if row.lacking else [])):
            only = Row(row.name, row.function, row.inputs, lacking=pattern)
            assert any(Variant(only, *_rest(variant)).is_lacking() for variant in found)


def _rest(variant: Variant) -> tuple[Any, ...]:
    return variant.dtype, variant.case, variant.symbolic, variant.decomposed
