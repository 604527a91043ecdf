"""index_put: masks, broadcast values, None, negative and repeated indices, symbolic shapes."""

import torch
from frontend_cases import Case, export, fix_tests, import_program

aten = torch.ops.aten


def matrix(n):
    return torch.randn(4, n)


def mask_of(x):
    return x > 0


CASES = [
    Case(
        "mask_scalar",
        lambda x: aten.index_put(x, [x > 0], torch.tensor(7.0)),
        lambda n: (matrix(n),),
    ),
    Case(
        "mask_inplace",
        lambda x: x.clone().masked_fill(x > 1, 0).index_put_((x > 0,), torch.zeros(1)),
        lambda n: (matrix(n),),
    ),
    Case(
        "mask_rows_broadcast",
        lambda x, m, v: x.index_put((m,), v),
        lambda n: (matrix(n), torch.tensor([True, False, True, True]), torch.randn(1, n)),
    ),
    Case(
        "mask_rows_values",
        lambda x, m, v: x.index_put((m,), v),
        lambda n: (matrix(n), torch.tensor([True, False, True, False]), torch.randn(2, n)),
    ),
    Case(
        "mask_accumulate",
        lambda x, m: x.index_put((m,), torch.tensor(1.5), accumulate=True),
        lambda n: (matrix(n), mask_of(torch.randn(4, n))),
    ),
    Case(
        "mask_3d_middle",
        lambda x, m, v: aten.index_put(x, [None, m], v),
        lambda n: (torch.randn(2, n, 3), torch.arange(n) % 2 == 0, torch.randn(2, 1, 3)),
    ),
    Case(
        "values_broadcast",
        lambda x, i, v: x.index_put((i,), v),
        lambda n: (matrix(n), torch.tensor([0, 3]), torch.randn(1, n)),
    ),
    Case(
        "negative_accumulate_repeated",
        lambda x, i, v: x.index_put((i,), v, accumulate=True),
        lambda n: (matrix(n), torch.tensor([0, -1, 0]), torch.randn(3, n)),
    ),
    Case(
        "none_first",
        lambda x, j, v: aten.index_put(x, [None, j], v),
        lambda n: (matrix(n), torch.tensor([0, 2]), torch.randn(4, 2)),
        wrong=None,
    ),
    Case(
        "none_first_of_any_size_number",
        lambda x: aten.index_put(x, [None, torch.tensor([0, 2])], torch.tensor(7.0)),
        lambda n: (torch.randn(n, 4),),
        wrong=None,
    ),
    Case(
        "none_first_of_any_size_row",
        lambda x, v: aten.index_put(x, [None, torch.tensor([0, 2])], v, True),
        lambda n: (torch.randn(n, 4), torch.randn(2)),
    ),
    Case(
        "none_first_of_any_size_two_indices",
        lambda x, v: aten.index_put(x, [None, torch.tensor([0, 2]), torch.tensor([1])], v),
        lambda n: (torch.randn(n, 4, 3), torch.randn(1, 2)),
    ),
    Case(
        "none_first_of_any_size_whole",
        lambda x, v: aten.index_put(x, [None, torch.tensor([0, 2])], v),
        lambda n: (torch.randn(n, 4), torch.randn(n, 2)),
        wrong=None,
    ),
    Case(
        "none_between",
        lambda x, i, j, v: aten.index_put(x, [i, None, j], v),
        lambda n: (
            torch.randn(3, n, 5),
            torch.tensor([0, 2]),
            torch.tensor([4, 1]),
            torch.randn(2, n),
        ),
    ),
    Case(
        "symbolic_indices",
        lambda x, i, v: x.index_put((i,), v),
        lambda n: (torch.randn(2 * n), torch.randperm(n) + 1, torch.randn(n)),
        symbolic=(True,),
        wrong=None,
    ),
    Case(
        "no_dimensions",
        lambda x, i, v: x.index_put((i, i), v) + x.index_put((i, i), v, accumulate=True),
        lambda n: (torch.randn(3, 5), torch.tensor(-1), torch.tensor(2.0)),
    ),
    Case(
        "pairs",
        lambda x, i, j, v: x.index_put((i, j), v),
        lambda n: (torch.randn(3, 5), torch.tensor([0, 2]), torch.tensor([4, 1]), torch.randn(2)),
        wrong=None,
    ),
]

test_equals_torch, test_stock_is_wrong = fix_tests("index_put", CASES)


def test_the_kernel_of_stock_that_adds_in_several_threads_is_not_used():
    """Threads that add to one element at the same time lose terms, in one of five runs or so."""
    case = Case(
        "repeated",
        lambda x, i, v: x.index_put((i,), v, accumulate=True),
        lambda n: (torch.zeros(n), torch.arange(1000) % 3, torch.ones(1000)),
    )
    module = import_program(export(case, symbolic=False), decomposed=True)
    assert "R.index_put(" not in module.script()
