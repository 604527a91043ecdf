"""Operators that older versions of TVM lack, and scatter and pooling."""

import numpy as np
import pytest
import torch
import tvm
from frontend_cases import Case, check, export, fix_tests, import_program
from torch.nn import functional
from tvm import relax

STATIC = {"symbolic": (False,)}
EP = {"decomposed": (True,)}
RAW = {"decomposed": (False,)}


def rows(n):
    return (torch.randn(3, n),)


def square(n):
    return (torch.randn(2, n, n),)


def small_index(n):
    """An index that covers two of three rows, with a duplicate and a negative value apart."""
    return torch.randn(3, n), torch.tensor([[0, 2, 1], [1, 0, 2]]), torch.randn(3, 4)


def deep_index(n):
    """An index smaller than the tensor along the last axis but one and the last."""
    return torch.randn(4, 3, n), torch.tensor([[[0, 3, 1], [2, 0, 3]]])


SCATTER = [
    Case("smaller", lambda x, i, s: x.scatter(1, i, s), small_index, **EP),
    Case("smaller_rows", lambda x, i, s: x.scatter(0, i, s), small_index, **EP),
    Case("smaller_value", lambda x, i: x.scatter(0, i, 2.5), deep_index, **EP),
    Case("smaller_add", lambda x, i: x.scatter_add(2, i, x), deep_index, **RAW),
    Case("larger_source", lambda x, i, s: x.scatter(1, i, s[:, :3]), small_index, **STATIC),
    Case("larger_source_add", lambda x, i, s: x.scatter_add(0, i, s[:, :3]), small_index),
    Case("duplicates", lambda x, i, s: x.scatter_add(1, i * 0, s), small_index, **STATIC, **EP),
    Case("rows", lambda x, i, s: x.scatter(1, i, 1.0), small_index, wrong=None, **STATIC, **EP),
    Case("add", lambda x, i, s: x.scatter(0, i, s, reduce="add"), small_index, **STATIC),
    Case("times", lambda x, i, s: x.scatter(1, i, 3.0, reduce="multiply"), small_index, **STATIC),
    Case(
        "whole",
        lambda x: x.scatter(1, x.argsort(1), x * 2),
        rows,
        wrong="<0.27",
        **RAW,
    ),
]
test_scatter, test_scatter_stock = fix_tests("scatter", SCATTER)

DIAGONAL = [
    Case("trace", lambda x: torch.trace(x[0]), square, **EP),
    Case("above", lambda x: x.diagonal(1, 1, 2), square, **RAW),
    Case("below", lambda x: x.diagonal(-2, 0, 1), square, **STATIC, **EP),
    Case("wide", lambda x: torch.diagonal(x, 2, -1, 0), lambda n: (torch.randn(3, 2, n),), **EP),
    Case("outside", lambda x: x.diagonal(3), lambda n: (torch.randn(3, 4),), **EP),
]
test_diagonal, _ = fix_tests("diagonal", DIAGONAL)


def halves(n):
    return (torch.tensor([0.125, 2.5, -0.375, 25.0, 35.0, -15.0, 1e6]).repeat(n, 1),)


ROUND = [
    Case("two", lambda x: torch.round(x, decimals=2), halves, tolerance=0.0, **EP),
    Case("tens", lambda x: torch.round(x, decimals=-1), halves, tolerance=0.0, **RAW),
    Case("float64", lambda x: x.double().round(decimals=1), halves, tolerance=0.0, **STATIC, **EP),
    Case("whole", lambda x: torch.round(x, decimals=0), halves, tolerance=0.0, **STATIC, **RAW),
]
test_round, _ = fix_tests("round_decimals", ROUND)

ASSERTION = [
    Case("one_hot", lambda i: functional.one_hot(i, 5), lambda n: (torch.arange(n) % 5,), **EP),
]
test_assertion, _ = fix_tests("assert_async", ASSERTION)


def rows_of_3(n):
    return (torch.randn(3, n),)


ITEM = [
    Case("float", lambda x: (x * x.sum().item(), x.clamp(max=x.mean().item())), rows_of_3),
    Case("one_element", lambda x: x / x[:1, :1].item(), rows_of_3),
    Case("int", lambda x: x * (x > 0).sum().item(), rows_of_3),
    Case("list", lambda x: x - x[0, :2].tolist()[1], rows_of_3, **STATIC, **EP),
]
test_item, test_item_stock = fix_tests("item", ITEM)

MASKED_SELECT = [
    Case("elements", lambda x: torch.masked_select(x, x > 0), rows, **STATIC),
    Case(
        "broadcast",
        lambda x, m: torch.masked_select(x, m).sum(),
        lambda n: (torch.randn(3, n), torch.tensor([[True], [False], [True]])),
        **EP,
    ),
]
test_masked_select, test_masked_select_stock = fix_tests("masked_select", MASKED_SELECT)


def edges(n):
    return torch.randn(3, n), torch.tensor([-1.0, 0.0, 0.5, 2.0])


def edges_and_nan(n):
    x = torch.randn(3, n)
    x[:, 1], x[:, 3] = float("nan"), -torch.inf
    return x, torch.tensor([-1.0, 0.0, 0.0, 2.0, torch.inf, float("nan")])


BUCKETIZE = [
    Case("right", lambda x, e: torch.bucketize(x, e, right=True), edges, wrong="<0.26", **EP),
    Case("left", lambda x, e: torch.bucketize(x, e), edges, wrong="<0.26", **STATIC, **EP),
    Case(
        "int32",
        lambda x, e: torch.bucketize(x.int(), e.int()),
        edges,
        wrong="<0.26",
        **STATIC,
        **RAW,
    ),
    Case("nan", lambda x, e: torch.bucketize(x, e), edges_and_nan, **EP),
    Case("nan_right", lambda x, e: torch.bucketize(x, e, right=True), edges_and_nan, **RAW),
    Case(
        "nan_half",
        lambda x, e: torch.bucketize(x.half(), e.half(), out_int32=True),
        edges_and_nan,
        **STATIC,
    ),
]
test_bucketize, test_bucketize_stock = fix_tests("bucketize", BUCKETIZE)

RESHAPE = [
    Case("no_columns", lambda x: x[:, 2:2], rows, wrong="<0.26", **EP),
    Case(
        "unfold",
        lambda x: functional.unfold(x, 2),
        lambda n: (torch.randn(1, 3, 4, n),),
        symbolic=(True,),
        **RAW,
    ),
]
test_reshape, test_reshape_stock = fix_tests("reshape_pattern", RESHAPE)

DILATION = [
    Case(
        "one_axis",
        lambda x, w: functional.conv_transpose1d(x, w, stride=2, padding=1, dilation=3),
        lambda n: (torch.randn(1, 3, n), torch.randn(3, 4, 3)),
        tolerance=1e-4,
        **EP,
    ),
    Case(
        "two_axes_grouped",
        lambda x, w: functional.conv_transpose2d(x, w, groups=2, dilation=(2, 1)),
        lambda n: (torch.randn(1, 4, 5, n), torch.randn(4, 1, 2, 3)),
        tolerance=1e-4,
        **STATIC,
        **RAW,
    ),
]
test_dilation, test_dilation_stock = fix_tests("transposed_dilation", DILATION)


def image(n):
    return (torch.randn(1, 2, 6, n),)


ADAPTIVE = [
    Case(
        "two_axes",
        lambda x: functional.adaptive_avg_pool2d(x, (3, 2)),
        image,
        wrong="<0.27",
        symbolic=(True,),
        **RAW,
    ),
    Case(
        "both_symbolic",
        lambda x: functional.adaptive_avg_pool2d(x, (4, 5)),
        lambda n: (torch.randn(2, n, n),),
        wrong=None,
        symbolic=(True,),
        **EP,
    ),
    Case(
        "area",
        lambda x: functional.interpolate(x, scale_factor=2, mode="area"),
        image,
        symbolic=(True,),
        **RAW,
    ),
]
test_adaptive, test_adaptive_stock = fix_tests("adaptive_average", ADAPTIVE)

# 0.26 is right for these sizes.
OLDEST = {"wrong": "<0.26"}
OVERLAPPING = [
    Case(
        "two_axes", lambda x: functional.adaptive_avg_pool2d(x, 4), image, **STATIC, **EP, **OLDEST
    ),
    Case(
        "one_axis",
        lambda x: functional.adaptive_avg_pool1d(x[0], 4),
        image,
        **STATIC,
        **RAW,
        **OLDEST,
    ),
]
test_overlapping, test_overlapping_stock = fix_tests("adaptive_average_constant", OVERLAPPING)


@pytest.mark.parametrize("decomposed", [True, False])
def test_a_symbolic_size_among_the_outputs(decomposed):
    """0.25 refuses it with a bare ValueError."""
    program = export(Case("size", lambda x: (x + 1, x.shape[1] * 2), rows), symbolic=True)
    machine = relax.VirtualMachine(
        tvm.compile(import_program(program, decomposed), "llvm"), tvm.cpu()
    )
    for size in (6, 9):
        x = torch.randn(3, size).numpy()
        added, doubled = machine["main"](tvm.runtime.tensor(x))
        np.testing.assert_array_equal(added.numpy(), x + 1)
        assert int(doubled) == 2 * size


INDEX = [
    Case("argsort", lambda x: (x.argsort(1), x.argsort(0, descending=True)), rows),
    Case("masked_fill", lambda x: x.masked_fill(x > 0, x.shape[1]), rows, symbolic=(True,)),
]


@pytest.mark.parametrize("decomposed", [True, False])
@pytest.mark.parametrize("case", INDEX, ids=lambda case: case.name)
def test_dtypes_and_symbolic_numbers(case, decomposed):
    check(case, symbolic=True, decomposed=decomposed)
