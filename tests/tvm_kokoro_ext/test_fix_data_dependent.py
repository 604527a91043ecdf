"""Numbers that are read from tensors: bounds of slices, factors, and what torch asserts of them."""

import math

import pytest
import torch
import torch.nn.functional as functional
from frontend_cases import (
    Case,
    compare,
    compile_module,
    export,
    fix_tests,
    import_program,
    module_of,
)

#: Inside of the tensor of (3, 11), at its ends, outside of it, and counted from the end.
NUMBERS = (0, 3, 5, 9, 10, 11, 14, -1, -2, -3, -4, -20)


def given(number=3):
    return torch.randn(3, 11), torch.tensor(number)


def checked_stop(x, n):
    stop = n.item()
    torch._check(stop >= 0)
    torch._check(stop < x.shape[1])
    return x[:, :stop] * 2


def checked_elements(x, n):
    torch._check_tensor_all(torch.stack([n, n + 1]) > -3)
    return x * 2


def checked_flag(x, n):
    torch._check((n < 9).item())
    return x * 2


def checked_equal(x, n):
    torch._check(n.item() * 2 == 6)
    return x[:, : n.item()]


def checked_view(x, n):
    rows = n.item()
    torch._check(rows > 0)
    torch._check(33 % rows == 0)
    return x.reshape(rows, 33 // rows)


def checked_flags(x, n):
    few, many = (n < 4).item(), (n > 9).item()
    torch._check(torch.sym_not(few & (n < 0).item()))
    return x * torch.sym_ite(few | many, 3, 5)


FUNCTIONS = {
    "elements": checked_elements,
    "flag": checked_flag,
    "flags": checked_flags,
    "equal": checked_equal,
    "from": lambda x, n: x[:, n.item() :],
    "until": lambda x, n: x[:, : n.item()],
    "around": lambda x, n: x[:, 5 - n.item() : 5 + n.item()],
    "three": lambda x, n: x[:, n.item() : n.item() + 3],
    "step": lambda x, n: x[:, n.item() :: 2],
    "sum": lambda x, n: x[:, n.item() :].sum(0),
    "checked": checked_stop,
    "narrow": lambda x, n: torch.narrow(x, 1, n.item(), 2),
    "split": lambda x, n: torch.tensor_split(x, n.reshape(1), 1)[1],
    "select": lambda x, n: x[:, n.item()],
    "factor": lambda x, n: x * abs(n.item()) + n.item() // 3,
    "views": checked_view,
    "number_rest": lambda x, n: x * (7 % n.item()),
    "number_quotient": lambda x, n: x * (7 // n.item() + 1) + (9 // (n.item() + 1)) // 2,
    "rest": lambda x, n: x.int() % n.item(),
    "quotient": lambda x, n: x.long() // n.item(),
    "fmod": lambda x, n: torch.fmod(x.long(), n.item() - 3),
    "trunc": lambda x, n: torch.div(x.int(), n.item(), rounding_mode="trunc"),
    "branch": lambda x, n: torch.cond(n.item() < 0, lambda x: x + 1, lambda x: x * 2, (x,)),
}


@pytest.mark.parametrize("decomposed", [True, False], ids=["decomposed", "whole"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_equals_torch_or_raises_where_torch_does(name, decomposed):
    """What torch asserts of a number protects the memory beside the tensor: it must be checked."""
    program = export(Case(name, FUNCTIONS[name], lambda n: given()), symbolic=False)
    eager = program.module()
    run = compile_module(import_program(program, decomposed))
    raised = 0
    for number in NUMBERS:
        inputs = given(number)
        try:
            expected = eager(*inputs)
        except (RuntimeError, IndexError, ZeroDivisionError):
            raised += 1
            with pytest.raises(Exception, match="match_cast|Assert"):
                run(*[tensor.numpy() for tensor in inputs])
        else:
            (result,) = run(*[tensor.numpy() for tensor in inputs])
            assert result.shape == tuple(expected.shape), number
            torch.testing.assert_close(torch.from_numpy(result), expected)
    assert raised < len(NUMBERS)


def at_most_three(x, mask):
    selected = torch.masked_select(x, mask)
    torch._check(selected.shape[0] <= 3)
    return selected


@pytest.mark.parametrize("decomposed", [True, False])
def test_a_bound_of_the_program_for_what_a_mask_selects_is_checked(decomposed):
    """It was taken for torch's own, which is too small where the tensor is broadcast."""

    def inputs(selected):
        return torch.arange(4.0), torch.arange(4) < selected

    program = export(Case("bound", at_most_three, inputs), 2)
    run = compile_module(import_program(program, decomposed))
    for selected in (0, 2, 3):
        x, mask = inputs(selected)
        (made,) = run(x.numpy(), mask.numpy())
        torch.testing.assert_close(torch.from_numpy(made), x[mask])
    with pytest.raises(Exception, match="mismatch"):
        run(*[tensor.numpy() for tensor in inputs(4)])


def put(x, mask, values, accumulate=False):
    return x.index_put((mask,), values, accumulate)


def mask_of(*chosen):
    return torch.tensor([place in chosen for place in range(6)])


def bags(mode, whole=False):
    def look_up(rows, offsets):
        table = torch.arange(12.0).reshape(6, 2)
        return functional.embedding_bag(rows, table, offsets, mode=mode, include_last_offset=whole)

    return look_up


def numbers(*values):
    return torch.tensor(values)


X, THREE, ROWS = torch.arange(12.0).reshape(6, 2), torch.ones(3, 2), numbers(1, 5, 2, 0, 3, 3)

#: (function, inputs that it is traced for and right for others, inputs for which PyTorch raises).
#: Without the check, what lies beside a tensor is read or written.
DATA = {
    "put_mask": (
        put,
        [(X, mask_of(0, 2, 5), THREE), (X, mask_of(1, 2, 3), THREE)],
        [(X, mask_of(*range(6)), THREE), (X, mask_of(1), THREE), (X, mask_of(), THREE)],
    ),
    "put_mask_added": (
        lambda x, mask, values: put(x.mT, mask[:2], values.mT[:2], True),
        [(X[:3], mask_of(0, 1), THREE)],
        [(X[:3], mask_of(0), THREE), (X[:3], mask_of(), THREE)],
    ),
    "put_mask_of_rank_2": (
        lambda x, mask, values: put(x, torch.stack([mask, mask], 1), values),
        [(X, mask_of(0, 2, 5), torch.ones(6))],
        [(X, mask_of(0, 2), torch.ones(6)), (X, mask_of(1, 2, 3, 4), torch.ones(6))],
    ),
    "put_one": (
        put,
        [(X, mask_of(0, 2, 5), THREE[:1]), (X, mask_of(), THREE[:1]), (X, mask_of(2), THREE[:1])],
        [],
    ),
    "masked_scatter": (
        lambda x, mask, values: x.masked_scatter(mask[:, None], values),
        [(X, mask_of(0, 2, 5), THREE), (X, mask_of(3), THREE), (X, mask_of(), THREE)],
        [(X, mask_of(*range(6)), THREE), (X, mask_of(0, 1, 2, 3), THREE)],
    ),
    "repeat_interleave": (
        lambda x, n: torch.repeat_interleave(x, n, dim=0),
        [(X, ROWS), (X, ROWS * 0)],
        [(X, ROWS - 1), (X, numbers(2, 2, 2, 2, 2, -1))],
    ),
    "repeat_interleave_of_size": (
        lambda x, n: torch.repeat_interleave(x, n, dim=0, output_size=6),
        [(X, numbers(1, 1, 1, 1, 1, 1)), (X, numbers(0, 3, 0, 3, 0, 0))],
        [(X, ROWS), (X, ROWS * 0)],
    ),
    "bincount": (
        lambda x: torch.bincount(x, minlength=3),
        [(ROWS,), (ROWS * 0,)],
        [(ROWS - 1,), (numbers(0, 0, -100_000, 1, 2, 3),), (-1 - ROWS,)],
    ),
    "bincount_of_weights": (
        lambda x: torch.bincount(x.to(torch.int8), x * 0.5),
        [(ROWS,)],
        [(ROWS - 1,)],
    ),
    "histc": (
        lambda x: torch.histc(x, 4),
        [(X,), (X * 0,), (X * 1e-40,)],
        [(X / 0,), (X * torch.inf,), (-X / 0,)],
    ),
    **{
        f"embedding_bag_{mode}": (
            bags(mode),
            [(ROWS, numbers(0, 2, 4)), (ROWS, numbers(0, 6, 6)), (ROWS, numbers(0, 0, 0))],
            [(ROWS, numbers(1, 2, 4)), (ROWS, numbers(0, 2, 900)), (ROWS, numbers(0, -1, 3))],
        )
        for mode in ("sum", "mean", "max")
    },
    "embedding_bag_of_whole_offsets": (
        bags("sum", whole=True),
        [(ROWS, numbers(0, 2, 6)), (ROWS, numbers(0, 0, 6))],
        [(ROWS, numbers(0, 2, 900)), (ROWS, numbers(2, 2, 6))],
    ),
}


@pytest.mark.parametrize(
    ("function", "right", "wrong"), [pytest.param(*row, id=name) for name, row in DATA.items()]
)
def test_elements_that_lead_outside_of_a_tensor_raise(function, right, wrong):
    case = Case("data", function, lambda n: right[0])
    run = compile_module(import_program(export(case, symbolic=False), True))
    for inputs in right:
        expected = function(*inputs).numpy()
        compare(case, run(*[tensor.numpy() for tensor in inputs]), [expected])
    for inputs in wrong:
        with pytest.raises((RuntimeError, IndexError)):
            function(*inputs)
        with pytest.raises(Exception, match="mismatch"):
            run(*[tensor.numpy() for tensor in inputs])


def test_one_row_of_a_symbolic_number_is_put_at_all_places():
    """Rows behind the only one were read."""
    case = Case("put", lambda x, y: put(x, mask_of(0, 2, 3, 4, 5, 1), y), lambda n: (X, X[:n]))
    marks = (({}, {0: torch.export.Dim.AUTO}),)
    program = torch.export.export(module_of(case), (X, X * 2), dynamic_shapes=marks)
    run = compile_module(import_program(program, True))
    for rows in (1, 6):
        compare(
            case, run(X.numpy(), X[:rows].numpy()), [put(X, mask_of(*range(6)), X[:rows]).numpy()]
        )
    with pytest.raises(Exception, match="mismatch"):
        run(X.numpy(), X[:5].numpy())


def read_from(compute):
    """A function of a tensor, and of the largest of another one as a number."""
    return lambda x, numbers: compute(x, numbers.max().item())


def chosen_by(condition):
    """One of two branches, by a condition of a number that is read from a tensor."""
    return read_from(
        lambda x, a: torch.cond(condition(x, a), lambda x: x + 1, lambda x: x * 2, (x,))
    )


def numbers(n):
    return torch.randn(3, n), torch.tensor([2.25, -1.0])


def halves(n):
    """A number whose square is no float16."""
    return torch.randn(3, n), torch.tensor([300.0, -1.0], dtype=torch.float16)


def checked_number(x, a):
    torch._check(a < 100.0)
    torch._check(a != 0)
    return x / a


READ_FLOATS = [
    Case("check", read_from(checked_number), numbers),
    Case("less", chosen_by(lambda x, a: a < 2), numbers),
    Case("equal", chosen_by(lambda x, a: a == 2.25), numbers),
    Case("size", chosen_by(lambda x, a: a > x.shape[1]), numbers),
    Case("two", chosen_by(lambda x, a: a >= x.sum().item()), numbers),
    Case("nan", chosen_by(lambda x, a: a != x.sum().log().item()), numbers, wrong=None),
    Case("not", chosen_by(lambda x, a: torch.sym_not(a <= 2)), numbers),
    Case("and", chosen_by(lambda x, a: (a > 2) & (a < x.shape[1])), numbers),
    Case("choice", read_from(lambda x, a: x * torch.sym_ite(a > 2, 3, 5)), numbers),
    Case("quotient", read_from(lambda x, a: (x * (a / 3), x / (x.shape[1] / a))), numbers),
    Case("power", read_from(lambda x, a: x * (a**2 - 2**a) + abs(-a)), numbers),
    Case("rest", read_from(lambda x, a: x * (-a % 2)), numbers),
    Case("bounds", read_from(lambda x, a: x * torch.sym_max(a, 2) - torch.sym_min(a, 9)), numbers),
    Case("root", read_from(lambda x, a: x * torch.sym_sqrt(a)), numbers),
    Case("floor", read_from(lambda x, a: x * math.floor(a) - math.ceil(a)), numbers),
    Case("round", read_from(lambda x, a: x * round(a) + round(a, 0)), numbers),
    Case("scalar", read_from(lambda x, a: torch.where(x > a, x, a)), numbers),
    Case("fill", read_from(lambda x, a: x.masked_fill(x > 0, a)), numbers),
    Case("clamp", read_from(lambda x, a: x.clamp(-a, a)), numbers, wrong=None),
    Case("alpha", read_from(lambda x, a: torch.add(x, x, alpha=a)), numbers),
    Case("half", read_from(lambda x, a: x * (a * a)), halves),
    Case("half_scale", read_from(lambda x, a: x.half() / (a * 512 / 127)), halves),
]
test_read_floats, test_read_floats_stock = fix_tests("read_floats", READ_FLOATS)
