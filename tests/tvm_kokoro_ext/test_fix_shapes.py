"""Slices, selections, indexing and squeeze on constant and symbolic axes."""

import torch
from frontend_cases import Case, fix_tests


def rows(n):
    return (torch.randn(3, n),)


def write_nothing(x):
    y = x.clone()
    y[2:1] = 1
    return torch.slice_scatter(y, x[:0], 0, 3, 1)


def symbolic_steps(x):
    """Every k-th column, of symbolic and of constant numbers of columns."""
    step = x.shape[1] // 3
    return x[:, ::step], x[:, 1::step], x[:, : x.shape[1] - 1 : step + 1], torch.arange(99)[::step]


SLICE = [
    Case("write_nothing", write_nothing, rows, symbolic=(False,)),
    Case(
        "proved_extent",
        lambda x: torch.arange(512)[None, : x.shape[1]].expand(3, -1) + x.long(),
        rows,
        symbolic=(True,),
    ),
    Case("drop_ends", lambda x: x[:, 1:-1] + x[:, 2:], rows, symbolic=(True,)),
    Case("symbolic_step", symbolic_steps, rows, wrong=None, symbolic=(True,)),
    Case("last_two", lambda x: x[:, -2:] * 2, rows, wrong=None),
    Case("step", lambda x: x[:, ::2] + x[:, 0 : x.shape[1] : 2], rows, wrong=None),
    Case("constant", lambda x: x[:, 1:3], rows, wrong=None),
    Case("last_rows", lambda x: (x[-2:], x[-9:-1]), rows, wrong="<0.26"),
]
test_slice, test_slice_stock = fix_tests("slice", SLICE)

NEGATIVE = [
    Case("column_list", lambda x, i: x[:, i], lambda n: (*rows(n), torch.tensor([-1, 0]))),
    Case("row_list", lambda x, i: x[i], lambda n: (*rows(n), torch.tensor([[-1, 0], [1, -3]]))),
    Case(
        "separated",
        lambda x, i, j: x[i, :, j],
        lambda n: (torch.randn(3, n, 5), torch.tensor([0, 1, -1]), torch.tensor([-1, 2, 0])),
    ),
    Case(
        "adjacent",
        lambda x, i, j: x[:, i, j],
        lambda n: (torch.randn(2, 3, n), torch.tensor([[0], [-1]]), torch.tensor([-1, 2])),
    ),
    Case(
        "outer",
        lambda x: x[:, (torch.arange(x.shape[2]) % 4)[:, None], torch.arange(5)] * 2,
        lambda n: (torch.randn(2, 4, n),),
        symbolic=(True,),
    ),
    Case(
        "wrapped",
        lambda x: x[torch.arange(100, 200).to(torch.int8).long()]
        + x[(torch.arange(100).to(torch.int8) * 99).long()],
        lambda n: (torch.randn(300, n),),
    ),
    Case(
        "scaled",
        lambda x: x[torch.ops.aten.sub.Scalar(torch.arange(3), 1, 2)]
        + x[torch.ops.aten.rsub.Scalar(torch.arange(3), 1, 1)],
        rows,
    ),
    Case("select_last", lambda x: x[:, -1] + x[:, 0], rows),
    Case("select_symbolic", lambda x: x.select(1, x.shape[1] - 2), rows, symbolic=(True,)),
    Case("positive", lambda x, i: x[i], lambda n: (*rows(n), torch.tensor([1, 0])), wrong=None),
]
test_negative_index, test_negative_index_stock = fix_tests("negative_index", NEGATIVE)

SQUEEZE = [
    Case("all", lambda x: x.squeeze(), lambda n: (torch.randn(1, n, 1, 4),), symbolic=(True,)),
    Case("one", lambda x: x.squeeze(1), lambda n: (torch.randn(n, 1, 3),), wrong=None),
    Case("not_one", lambda x: x.squeeze(1), lambda n: (torch.randn(n, 2, 3),), wrong=None),
    Case("several", lambda x: x.squeeze((0, 2)), lambda n: (torch.randn(1, n, 1),), wrong=None),
]
test_squeeze, test_squeeze_stock = fix_tests("squeeze", SQUEEZE)


def shifted(x):
    """The shift of relative positions, as XLNet writes it: torch records s²//s for the size s."""
    n = x.shape[1]
    scores = (x[:, :, None] * torch.arange(2 * n)).reshape(3, 2 * n, n)[:, 1:]
    return (scores.reshape(3, n, 2 * n - 1)[:, :, :n] + 1).softmax(-1)


def shuffled(x):
    """Pixels of channels: for one of the factors torch records the channels divided by the rest."""
    return torch.nn.functional.pixel_shuffle(x, 2)


RESHAPE = [
    Case("swapped", lambda x: x.reshape(x.shape[1], 3), rows, symbolic=(True,)),
    Case("view", lambda x: x.view(x.shape[1], -1) * 2, rows, decomposed=(False,)),
    Case("same", lambda x: x.reshape(3, x.shape[1]) + 1, rows, wrong=None),
    Case("constant", lambda x: x.reshape(-1, 1), rows, wrong=None),
    Case("shifted", shifted, rows, wrong=None, symbolic=(True,)),
    Case(
        "shuffled",
        shuffled,
        lambda n: (torch.randn(n - 4, 4 * (n - 4), n - 3, n),),
        wrong=None,
        symbolic=(True,),
    ),
]
test_reshape, test_reshape_stock = fix_tests("reshape", RESHAPE)


def padded(x):
    n, pad = x.shape[1], torch.nn.functional.pad
    return (
        pad(x, (0, n)),
        pad(x, (n // 2, 12 - n), value=2.5),
        pad(x > 0, (1, n, n, 0)),
        pad(x, (n, -2)),
    )


PADDED = [Case("amounts", padded, rows, symbolic=(True,))]
PADDED.append(Case("by_nothing", lambda x: torch.nn.functional.pad(x, ()) + 1, rows))
test_pad, test_pad_stock = fix_tests("pad", PADDED)


def counted(x):
    n = x.shape[1]
    return x[:, :1].repeat(1, n), x[:, :2].repeat(n // 2, 2, 1), x.repeat(2, 1)


def halves(x):
    return *x.chunk(2, 1), *x.split([2, x.shape[1] - 4, 2], 1)


def downwards(x):
    n = x.shape[1]
    return x * torch.arange(n, 0, -1), torch.arange(2 * n, 3, -3) + 1, torch.arange(7, -4, -2)


def by_floats(x):
    n = x.shape[1]
    whole = torch.arange(n, -n, -1.0, dtype=torch.int64), torch.arange(0.0, n, 2.0).long()
    return *whole, torch.arange(0, n, 0.5), torch.arange(n * 0.5), torch.arange(0.5, n, 1.5)


def whole_of_fractions(x):
    """Integers from floats: torch drops the fractions of the start and of the step first."""
    given = (-0.9, 2.1, 2.0), (0.5, 5.5, 1.5), (-3.7, 3.2, 1.0), (0, 5.5, 1)
    dtypes = torch.int64, torch.int32, torch.int8
    steps = [torch.arange(*numbers, dtype=dtype) for numbers in given for dtype in dtypes]
    return x, *steps


def by_quotients(x):
    """Steps and ends that are floats computed from sizes, of which torch records no integer."""
    n = x.shape[1]
    whole = torch.arange(0, 1, 1 / n), torch.arange(0, 7, 7 / n), torch.arange(n / 2)
    return (
        *whole,
        torch.arange(1 / n, 1, 1 / n),
        torch.arange(0, n, n / 5),
        torch.arange(n, 0, -n / 4),
    )


def by_rounded_steps(x):
    """Steps that float32 does not hold, added up from values far from 0."""
    return x, torch.arange(1000, 1100, 0.37), torch.arange(-9.0, 9.01, 0.0703)


def beyond_the_dtype(x):
    """Numbers that the dtype does not hold, which torch takes modulo its range."""
    return x, torch.arange(-3, 3, dtype=torch.uint8), torch.arange(250, 260, 3, dtype=torch.int8)


SYMBOLIC = [
    Case("arange_quotients", by_quotients, rows, symbolic=(True,)),
    Case("repeat", counted, rows, symbolic=(True,)),
    Case("split", halves, lambda n: (torch.randn(2, 2 * n),), symbolic=(True,)),
    Case("arange", downwards, rows),
    Case("arange_floats", by_floats, rows, symbolic=(True,)),
    Case("arange_fractions", whole_of_fractions, rows),
    Case("arange_rounded", by_rounded_steps, rows, tolerance=3e-7, symbolic=(False,)),
    Case("arange_beyond", beyond_the_dtype, rows),
]
test_symbolic, test_symbolic_stock = fix_tests("symbolic_shapes", SYMBOLIC)
