"""Sizes that a program was not traced for are refused when it runs."""

import math

import numpy as np
import pytest
import torch
from frontend_cases import Case, compile_module, import_program, module_of
from torch.nn import functional

POSITIONS = torch.randn(4)


def sizes(*lengths):
    return tuple(torch.randn(*n) if isinstance(n, tuple) else torch.randn(n) for n in lengths)


def imported(function, inputs, axis=0, decomposed=False):
    marks = (tuple({axis: torch.export.Dim.AUTO} for _ in inputs),)
    module = module_of(Case("assuming", function, lambda n: inputs))
    return import_program(torch.export.export(module, inputs, dynamic_shapes=marks), decomposed)


#: (function of x and y, sizes for which its trace holds, others that PyTorch's program refuses).
#: Every program is traced for 12 and 4.
TRACED = {
    "slice": (lambda x, y: x[: y.shape[0]] * y, (6, 4), (3, 5)),
    "slice_to_constant": (lambda x, y: x[:4].sum() + y, (4, 4), (3, 5)),
    "slice_of_table": (lambda x, y: y + POSITIONS[: y.shape[0]] + 0 * x[0], (6, 3), (6, 5)),
    "steps": (lambda x, y: x[y.shape[0] - 3 :: 2][:2] * 2, (6, 4), (3, 5)),
    "narrow": (lambda x, y: x.narrow(0, 1, y.shape[0]) + y, (6, 4), (3, 5)),
    "select": (lambda x, y: x[3] + y[0], (4, 4), (3, 5)),
    "select_from_end": (lambda x, y: x[-4] + y[-1], (4, 4), (3, 5)),
    "select_symbolic": (lambda x, y: x.select(0, y.shape[0] - 1) + y, (6, 4), (3, 5)),
    "view": (lambda x, y: x.view(-1, 4) + y[0], (16, 3), (14, 3)),
    "view_of_product": (lambda x, y: torch.outer(x, y).view(-1, 6) * 2, (15, 2), (7, 4)),
    "split": (lambda x, y: torch.split(x, x.shape[0] // 2)[1] + y[0], (16, 2), (15, 2)),
    "gather": (
        lambda x, y: torch.outer(x, x).gather(0, torch.outer(x, y).long() * 0),
        (6, 4),
        (3, 5),
    ),
    "conv": (lambda x, y: functional.conv1d(x[None, None], y[None, None]), (6, 4), (3, 4)),
    "remainder": (lambda x, y: x * 2 if y.shape[0] % 3 == 1 else x + y[0], (6, 7), (6, 6)),
    "no_multiple": (lambda x, y: x * 2 if y.shape[0] % 3 else x + y[0], (6, 5), (6, 6)),
    "odd_sum": (
        lambda x, y: x * 2 if (x.shape[0] + y.shape[0]) % 7 != 4 else x + y[0],
        (6, 4),
        (6, 5),
    ),
    "branch": (lambda x, y: x * 2 if x.shape[0] > 5 else x + y[0], (6, 4), (5, 4)),
    "branch_of_both": (
        lambda x, y: x * 2 if x.shape[0] > 2 * y.shape[0] else x + y[0],
        (9, 4),
        (8, 4),
    ),
    "true_division": (lambda x, y: x * 2 if x.shape[0] / 3 > 2.5 else x + y[0], (8, 4), (7, 4)),
    "float_factor": (lambda x, y: x * 2 if x.shape[0] * 0.7 > 6.3 else x + y[0], (10, 4), (9, 4)),
    "float_differs": (lambda x, y: x * 2 if y.shape[0] * 0.5 != 3 else x + y[0], (6, 5), (6, 6)),
    "floor_of_a_quotient": (
        lambda x, y: x * (2 if math.floor(x.shape[0] / 7) < 4 else 3) + y[0],
        (27, 4),
        (28, 4),
    ),
    "floor_of_a_root": (
        lambda x, y: x * (2 if math.floor(x.shape[0] ** 0.5) == 3 else 3) + y[0],
        (15, 4),
        (16, 4),
    ),
    "ceil_of_a_root": (
        lambda x, y: x * (2 if math.ceil(x.shape[0] ** 0.5) == 4 else 3) + y[0],
        (16, 4),
        (17, 4),
    ),
    "rounded_root": (
        lambda x, y: x * (2 if round(x.shape[0] ** 0.5) == 3 else 3) + y[0],
        (7, 4),
        (13, 4),
    ),
    "truncated_root": (lambda x, y: x[: int(x.shape[0] ** 0.5)] + y[0], (15, 4), (16, 4)),
    "truncated": (lambda x, y: x * int(x.shape[0] * 0.7), (12, 4), (11, 4)),
    "count": (lambda x, y: sum(x * i for i in range(int(x.shape[0] * 0.3))), (13, 4), (14, 4)),
    "rounded": (lambda x, y: x * 2 if round(x.shape[0] / 5) == 2 else x + y[0], (8, 4), (13, 4)),
    "rounded_up": (
        lambda x, y: x * 2 if math.ceil(x.shape[0] * 0.7) == 9 else x + y[0],
        (12, 4),
        (13, 4),
    ),
    "float_floor": (lambda x, y: x * 2 if x.shape[0] // 2.5 == 4 else x + y[0], (11, 4), (13, 4)),
    "root": (lambda x, y: x * 2 if x.shape[0] ** 0.5 > 3.1 else x + y[0], (10, 4), (9, 4)),
    "power": (lambda x, y: x * 2 if 2 ** x.shape[0] > 1000 else x + y[0], (70, 4), (9, 4)),
    "absolute": (lambda x, y: x * 2 if abs(x.shape[0] - 12) < 3 else x + y[0], (14, 4), (15, 4)),
    "bit": (lambda x, y: x * 2 if x.shape[0] & 4 else x + y[0], (15, 4), (16, 4)),
    "bits": (lambda x, y: x * 2 if (x.shape[0] | 1) == 13 else x + y[0], (13, 4), (14, 4)),
    "other_bits": (lambda x, y: x * 2 if (x.shape[0] ^ 5) == 9 else x + y[0], (12, 4), (13, 4)),
    "bits_of_both": (
        lambda x, y: x * 2 if x.shape[0] ^ y.shape[0] == 8 else x + y[0],
        (12, 4),
        (13, 4),
    ),
    "shifted_up": (lambda x, y: x * 2 if x.shape[0] << 1 == 24 else x + y[0], (12, 4), (13, 4)),
    "shifted_down": (lambda x, y: x * 2 if x.shape[0] >> 2 == 3 else x + y[0], (14, 4), (16, 4)),
    "count_of_one": (
        lambda x, y: sum(x * i for i in range(1, x.shape[0] // 12 + 1)),
        (23, 4),
        (24, 4),
    ),
    "quotient_of_one": (
        lambda x, y: x * 2 if x.shape[0] // 12 == 1 else x + y[0],
        (23, 4),
        (24, 4),
    ),
    "whole_quotient_of_one": (lambda x, y: x * int(x.shape[0] // 12), (23, 4), (24, 4)),
    "no_number": (lambda x, y: x * 2 if x.shape[0] != 5 else x + y[0], (6, 4), (5, 4)),
    "truncated_to_one": (lambda x, y: x * int(x.shape[0] * 0.1), (19, 4), (20, 4)),
    "adaptive_average": (
        lambda x, y: functional.interpolate(x[None, None], scale_factor=1.7, mode="area"),
        (12, 4),
        (11, 4),
    ),
}


@pytest.mark.parametrize(
    ("function", "good", "bad"), [pytest.param(*row, id=name) for name, row in TRACED.items()]
)
def test_a_program_refuses_sizes_that_it_was_not_traced_for(function, good, bad):
    """It returned the results of the branch that was traced, or what lay behind a tensor."""
    run = compile_module(imported(function, sizes(12, 4)))
    inputs = sizes(*good)
    (result,) = run(*[tensor.numpy() for tensor in inputs])
    torch.testing.assert_close(torch.from_numpy(result), function(*inputs))
    with pytest.raises(Exception, match="mismatch"):
        run(*[tensor.numpy() for tensor in sizes(*bad)])


def test_decomposing_a_program_adds_no_guards_about_the_parts_of_its_guards():
    """Torch evaluates `min(n, 30) <= n` when it traces again, which asked whether n < 30."""

    def between(x, y):
        return x[max(1, x.shape[0] - 9) : min(x.shape[0], 30)], y + 1

    run = compile_module(imported(between, sizes(12, 4)))
    for n in (9, 12, 31, 35):
        x, y = sizes(n, 4)
        result, _ = run(x.numpy(), y.numpy())
        torch.testing.assert_close(torch.from_numpy(result), between(x, y)[0])


@pytest.mark.parametrize(
    ("function", "good", "bad"),
    [pytest.param(*TRACED[name], id=name) for name in ("slice", "view")],
)
def test_guards_that_torch_was_asked_to_put_off_are_checked(function, good, bad):
    program = torch.export.export(
        module_of(Case("assuming", function, sizes)),
        sizes(12, 4),
        dynamic_shapes=(({0: torch.export.Dim.AUTO},) * 2,),
        prefer_deferred_runtime_asserts_over_guards=True,
    )
    run = compile_module(import_program(program, False))
    inputs = sizes(*good)
    (result,) = run(*[tensor.numpy() for tensor in inputs])
    torch.testing.assert_close(torch.from_numpy(result), function(*inputs))
    with pytest.raises(Exception, match="mismatch"):
        run(*[tensor.numpy() for tensor in sizes(*bad)])


#: (function of x, the smallest size that has what the function reads).
SMALLEST = {
    "first": (lambda x: x[0] * 2, 1),
    "second": (lambda x: x[1] * 2, 2),
    "last": (lambda x: x[-1] * 2, 1),
    "first_two": (lambda x: x[:2] * 2, 2),
    "all_but_first": (lambda x: x[1:] * 2, 1),
    "differences": (lambda x: x[1:] - x[:-1], 1),
    "argmax": (lambda x: x.argmax(), 1),
    "max": (lambda x: x.max(), 1),
    "amax": (lambda x: x.amax(0), 1),
    "amin_of_list": (lambda x: x[:, None].amin((0, 1)), 1),
    "kthvalue": (lambda x: x.kthvalue(2).values, 2),
}

#: Functions that drop an axis of 1 element, which torch does not expect, and keep any other.
DROPPING = {
    "squeeze": lambda x: x.reshape(1, x.shape[0], 1).squeeze(),
    "squeeze_axis": lambda x: x.reshape(1, x.shape[0]).squeeze(1) * 2,
    "squeeze_axes": lambda x: x.reshape(1, x.shape[0], 1).squeeze((0, 1)) + 1,
}


@pytest.mark.parametrize(
    ("function", "least"), [pytest.param(*row, id=name) for name, row in SMALLEST.items()]
)
def test_small_sizes_that_torch_excludes_are_right_or_refused(function, least):
    """Torch traces for sizes other than 0 and 1, and records no guard for them."""
    run = compile_module(imported(function, sizes(7)))
    (x,) = sizes(least)
    np.testing.assert_array_equal(run(x.numpy())[0], function(x).numpy())
    with pytest.raises(Exception, match="mismatch"):
        run(np.zeros(least - 1, "float32"))


PLACES = torch.tensor([-2.6, -1.7, -1.0, -0.3, 0.5, 1.0, 1.2, 2.9, math.inf])[None, None, :, None]


def mirrored(x, mode):
    line, places = x.reshape(1, 1, 1, -1), PLACES.expand(-1, -1, -1, 2)
    return torch.nn.functional.grid_sample(line, places, mode, "reflection", align_corners=True)


#: Functions of an axis that may have one element, although torch takes it for longer.
SINGLE = {
    "mirrored": lambda x: mirrored(x, "bilinear"),
    "mirrored_nearest": lambda x: mirrored(x, "nearest"),
    "mirrored_bicubic": lambda x: mirrored(x, "bicubic"),
}


@pytest.mark.parametrize("decomposed", [False, True], ids=["raw", "ep"])
@pytest.mark.parametrize("function", SINGLE.values(), ids=SINGLE)
def test_one_element_is_right(function, decomposed):
    run = compile_module(imported(function, sizes(7), decomposed=decomposed))
    for size in (7, 2, 1):
        (x,) = sizes(size)
        np.testing.assert_allclose(run(x.numpy())[0], function(x).numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("decomposed", [False, True], ids=["raw", "ep"])
@pytest.mark.parametrize("function", DROPPING.values(), ids=DROPPING)
def test_a_squeezed_axis_of_one_element_is_refused(function, decomposed):
    """The result had the axis that PyTorch's has not."""
    run = compile_module(imported(function, sizes(7), decomposed=decomposed))
    for size in (0, 2, 5):
        (x,) = sizes(size)
        np.testing.assert_array_equal(run(x.numpy())[0], function(x).numpy())
    with pytest.raises(Exception, match="mismatch"):
        run(np.zeros(1, "float32"))


def test_a_guard_that_divides_by_zero_is_refused():
    """An integer that was divided by 0 ended the process."""
    run = compile_module(imported(lambda x: x.view(2, -1), sizes((6, 4))))
    (x,) = sizes((8, 4))
    np.testing.assert_array_equal(run(x.numpy())[0], x.view(2, -1).numpy())
    with pytest.raises(Exception, match="mismatch"):
        run(np.zeros((0, 4), "float32"))


def bags(x, y):
    """The sums of rows of x that embedding_bag of two bags has."""
    rows = y.long().expand(2, -1) * 0
    return torch.nn.functional.embedding_bag(rows, x[:, None], mode="sum")


#: (function of x and y, sizes for which it is right, others where PyTorch divides by 0). Every
#: program is traced for 12 and 4.
DIVIDED = {
    "view": (lambda x, y: x.view(y.shape[0] // 2, -1), (12, 4), (12, 1)),
    "view_of_nothing": (lambda x, y: x.view(y.shape[0] // 2, -1), (12, 6), (12, 0)),
    "reshape": (lambda x, y: x.reshape(-1, y.shape[0] // 2), (12, 6), (12, 1)),
    "unflatten": (lambda x, y: x.unflatten(0, (y.shape[0] // 3, -1)), (12, 9), (12, 2)),
    "view_of_size": (lambda x, y: x.view(-1, y.shape[0]), (12, 3), (12, 0)),
    "quotient": (lambda x, y: x.new_zeros(x.shape[0] // y.shape[0]), (12, 5), (12, 0)),
    "remainder": (lambda x, y: x.new_ones(x.shape[0] % (y.shape[0] + 1) + 2), (12, 5), None),
    "remainder_of_size": (lambda x, y: x.new_ones(7 % y.shape[0] + 2), (12, 5), (12, 0)),
    "slice": (lambda x, y: x[: 7 % y.shape[0] + 2] * 1, (12, 5), (12, 0)),
    "factor": (lambda x, y: x * (7 // y.shape[0]), (12, 5), (12, 0)),
    "true_division": (lambda x, y: x * (7 / y.shape[0]), (12, 5), (12, 0)),
    "integers": (lambda x, y: torch.arange(9) // y.shape[0] + x[0], (12, 5), (12, 0)),
    "rest_of_integers": (lambda x, y: torch.arange(9) % y.shape[0] + x[0], (12, 5), (12, 0)),
    "fmod": (lambda x, y: torch.fmod(torch.arange(9), y.shape[0]) + x[0], (12, 5), (12, 0)),
    "bags": (bags, (12, 5), (12, 0)),
    "strides": (
        lambda x, y: torch.nn.functional.conv1d(x[None], torch.ones(1, 1, 2), stride=y.shape[0]),
        (12, 5),
        (12, 0),
    ),
}


@pytest.mark.parametrize("decomposed", [False, True], ids=["raw", "ep"])
@pytest.mark.parametrize(
    ("function", "good", "bad"), [pytest.param(*row, id=name) for name, row in DIVIDED.items()]
)
def test_a_size_that_divides_by_zero_is_refused(function, good, bad, decomposed):
    """The process ended, because all sizes are computed before anything is checked."""
    run = compile_module(imported(function, sizes(12, 4), decomposed=decomposed))
    inputs = sizes(*good)
    (result,) = run(*[tensor.numpy() for tensor in inputs])
    torch.testing.assert_close(torch.from_numpy(result), function(*inputs))
    if bad is not None:
        with pytest.raises(Exception, match="mismatch"):
            run(*[tensor.numpy() for tensor in sizes(*bad)])


def test_floats_are_divided_by_a_size_of_zero():
    run = compile_module(imported(lambda x, y: x // y.shape[0] + x % y.shape[0], sizes(12, 4)))
    x, y = torch.tensor([1.0, -2.0, 0.0]), torch.empty(0)
    (result,) = run(x.numpy(), y.numpy())
    np.testing.assert_array_equal(result, (x // 0 + x % 0).numpy())


#: Functions that are right for an axis of every size but 0, and how often each checks it.
CHECKS = {
    "none": (lambda x: x[:, ::2] * 2, 0),
    "other_axis": (lambda x: x[1] + x[:2].sum(0) + x.view(4, -1)[3], 0),
    "halves": (lambda x: x.chunk(2, 0)[1].softmax(1), 0),
    "once": (lambda x: x[:, 0] + x[:, -1] + x[:, 0], 1),
}


@pytest.mark.parametrize(
    ("function", "count"), [pytest.param(*row, id=name) for name, row in CHECKS.items()]
)
def test_what_is_proved_or_checked_is_not_checked_again(function, count):
    program = imported(function, sizes((4, 6)), axis=1)
    assert str(program["main"]).count("match_cast(") == count
