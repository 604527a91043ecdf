"""while_loop, scan and map: their results, shapes that differ between calls, and refusals."""

import numpy as np
import pytest
import torch
from frontend_cases import Case, compile_module, export, fix_tests, import_program
from torch._higher_order_ops import associative_scan, scan, while_loop
from torch._higher_order_ops.map import map as mapped

import tvm_kokoro_ext

STATIC = {"symbolic": (False,)}


def count(n):
    return torch.tensor(3), torch.randn(2, n)


def no_steps(n):
    return torch.tensor(0), torch.randn(2, n)


def grown(left, x):
    """Steps with a constant of outside, and one axis that may be symbolic."""
    bias = torch.arange(2.0)[:, None]
    return while_loop(
        lambda left, x: left > 0, lambda left, x: (left - 1, x * 0.5 + bias), (left, x)
    )


def one_value(left, x):
    return while_loop(lambda x: x.sum() < 100, lambda x: (x.abs() * 2 + 1,), (x,))


def rows_of(left, x):
    """An index that is carried, a condition that is computed of a size."""
    return while_loop(
        lambda i, total: i < x.shape[1],
        lambda i, total: (i + 1, total * 0.5 + x.index_select(1, i.reshape(1))),
        (torch.tensor(0), torch.zeros(2, 1)),
    )


def dtypes(left, x):
    return while_loop(
        lambda left, flags, half: left > 0,
        lambda left, flags, half: (left - 1, ~flags, half * 2),
        (left.int(), x > 0, x.half()),
    )


def chosen(left, x):
    def step(left, x):
        x = torch.cond(left % 2 == 0, lambda x: x + 1, lambda x: x * 2, (x,))
        return left - 1, x

    return while_loop(lambda left, x: left > 0, step, (left, x))


def nested(left, x):
    def step(left, x):
        inner = while_loop(
            lambda i, y: i > 0, lambda i, y: (i - 1, y + 1), (left.clone(), x.clone())
        )
        return left - 1, inner[1] * 0.5

    return while_loop(lambda left, x: left > 0, step, (left, x))


def written(left, x):
    def step(left, x):
        x = x.clone()
        x[1] += 2.0
        return left - 1, x

    return while_loop(lambda left, x: left > 0, step, (left, x))


def matrix(n):
    return torch.randn(4, n), torch.randn(n)


def sums(x, y):
    def step(carried, row):
        total, number = carried
        return (total * 0.5 + row, number + 1), (total * row, row.sum())

    return scan(step, (torch.zeros_like(y), torch.tensor(0)), x)


def backwards(x, y):
    return scan(lambda c, row: (c + row, c * 1.0), torch.zeros(4), x, dim=1, reverse=True)


def tensors_made_inside(left, x):
    """Tensors that a condition, a body and a branch in it make of numbers."""

    def step(left, x):
        scale = torch.tensor([[0.5], [2.0]])
        x = torch.cond(left % 2 == 0, lambda x: x * scale, lambda x: x + torch.tensor(1.5), (x,))
        return left - torch.tensor(1), x - torch.tensor([[0.25], [0.5]])

    left, x = while_loop(lambda left, x: left > torch.tensor(0), step, (left, x))
    total, each = scan(
        lambda c, row: (c + row * torch.tensor(0.5), row * torch.tensor(3)), x[0] * 1, x
    )
    return total, each, mapped(lambda row: row + torch.tensor(2), x)


LOOPS = [
    Case("tensors_inside", tensors_made_inside, count),
    Case("while", grown, count),
    Case("no_steps", grown, no_steps),
    Case("one_value", one_value, count),
    Case("size", rows_of, count),
    Case("dtypes", dtypes, count, tolerance=1e-3),
    Case("cond", chosen, count),
    Case("nested", nested, count, **STATIC),
    Case("written", written, count, **STATIC),
    Case("scan", sums, matrix),
    Case("reverse", backwards, matrix, **STATIC),
    Case("map", lambda x, y: mapped(lambda row, y: row * y + row.sum(), x, y), matrix),
    Case(
        "map_pair",
        lambda x, y: mapped(lambda pair: (pair[0] * pair[1], pair[0].argmax()), (x, x.exp())),
        matrix,
    ),
    Case(
        "associative",
        lambda x, y: associative_scan(torch.maximum, x, 0, combine_mode="generic"),
        matrix,
        wrong=None,
        **STATIC,  # torch.export fixes the sizes
    ),
]
test_loops, _ = fix_tests("loops", LOOPS)


def test_steps_beyond_the_calls_that_are_written_out():
    """Around the numbers of steps that one function takes, and more than a C++ stack would hold."""
    program = export(Case("while", grown, count), symbolic=False)
    run = compile_module(import_program(program, True))
    x = np.ones((2, 6), "float32")
    for steps in (0, 1, 7, 8, 9, 64, 65, 262_144, 262_146):
        left, made = run(np.int64(steps), x)
        assert left == 0
        expected = 0.5**steps + np.array([0.0, 1.0]) * (2 - 0.5 ** (steps - 1))
        np.testing.assert_allclose(made, np.repeat(expected[:, None], 6, 1), rtol=1e-5)


@pytest.mark.parametrize(
    ("function", "symbolic", "reason"),
    [
        (lambda x, y: scan(lambda c, row: (c + row, c * 1.0), y, x.t()), True, "symbolic size"),
        (
            lambda x, y: while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * 2), (0, y)),
            False,
            "a number",
        ),
    ],
    ids=["steps", "number"],
)
def test_what_is_no_loop_of_tensors_is_refused(function, symbolic, reason):
    def inputs(n):
        return torch.randn(4, n), torch.randn(4)

    program = export(Case("refused", function, inputs), symbolic=symbolic)
    with pytest.raises(tvm_kokoro_ext.UnsupportedOperatorError, match=reason):
        import_program(program, True)
