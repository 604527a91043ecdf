"""Numbers that are read from tensors: bounds of slices, factors, and what torch asserts of them."""

import pytest
import torch
from frontend_cases import Case, compile_module, export, import_program

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
        except (RuntimeError, IndexError):
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
