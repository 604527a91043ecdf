"""In-place operators seen through views, and copies that no kernel makes."""

import pytest
import torch
from frontend_cases import Case, export, fix_tests, import_program

import tvm_kokoro_ext
from tvm_kokoro_ext import _probe

RAW = {"decomposed": (False,)}


def rows(n):
    return (torch.randn(3, n),)


def write_view(x):
    y = x.clone()
    y[:, 0].mul_(2)
    return y * y


def write_earlier_name(x):
    y = x + 1
    y.mul_(2)
    return y


def write_transposed(x):
    y = x * 1
    y.transpose(0, 1).add_(1.0)
    return y


def fill_diagonal(x):
    y = x * 1
    y.fill_diagonal_(7.0)
    return y


def write_pieces(x):
    """Through pieces of `unbind`, whose inverse in torch has the sizes of the example."""
    y = x * 1
    first, *_, last = y.unbind()
    first.add_(1)
    last.view(-1, 1)[2:].mul_(2)
    (x * 1).unbind(0)[1].zero_()
    return y


def in_regions(x):
    """Regions with gradients, also one in a branch, and with autocast."""

    def branch(x):
        with torch.enable_grad():
            return x.exp()

    with torch.enable_grad():
        y = x.relu()
        y.add_(1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        signs = x.sign() @ x.sign().T  # which no rounding changes
    return torch.cond(y.sum() > 0, branch, torch.neg, (y,)), signs.float()


def branch_in_region(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        linear = torch.nn.functional.linear
        return torch.cond(
            x.sum() > 0, lambda x: linear(x, x).float() + 1, lambda x: x[:, :2] + 1, (x,)
        )


def mapped(x):
    each = torch.func.vmap(lambda row, other: row.softmax(-1) * other, in_dims=(0, None))
    return each(x, x[0])


def filled(x):
    """`fill` of a tensor leaves its operand as it is, also for what comes after it."""
    y = x.abs()
    return torch.fill(y, x.sum()), torch.fill(x.short(), torch.tensor(2.5)), y, y + x


INPLACE = [
    Case("fill", filled, rows),
    Case("regions", in_regions, rows, **RAW),
    Case("branch_in_region", branch_in_region, lambda n: (torch.ones(2, n),), **RAW),
    Case("vmap", mapped, rows, **RAW),
    Case("pieces", write_pieces, rows),
    Case("view", write_view, rows, **RAW),
    Case("earlier_name", write_earlier_name, rows, **RAW, wrong=None),
    Case("diagonal", fill_diagonal, lambda n: (torch.randn(n, 3),)),
    Case("transposed", write_transposed, rows, **RAW),
    Case("functional", lambda x: torch.relu(x) + 1, rows, **RAW, wrong=None, symbolic=(False,)),
]
test_inplace, test_inplace_stock = fix_tests("inplace", INPLACE)


@pytest.mark.parametrize("decomposed", [True, False])
def test_a_write_through_windows_is_refused_by_name(decomposed):
    """Torch's decomposition gives zeros for the last column, which no window of two covers."""

    def write(x):
        y = x * 1
        y.unfold(1, 2, 2).mul_(2)
        return y

    program = export(Case("windows", write, lambda n: (torch.randn(3, 5),)), False)
    with pytest.raises(tvm_kokoro_ext.UnsupportedOperatorError, match="aten.unfold.*covers"):
        import_program(program, decomposed)


def test_a_size_that_torch_fixes_is_refused_by_name(monkeypatch):
    """A decomposition must not make a program right for the example only."""
    case = Case("fixed", lambda x: x + 1, rows)
    constant = export(case, False).run_decompositions()
    program = export(case, True)
    monkeypatch.setattr(type(program), "run_decompositions", lambda *_: constant)
    with pytest.raises(tvm_kokoro_ext.UnsupportedOperatorError, match="dimension 1 of .*fixes.*6"):
        import_program(program, True)


def cast_in_branches(x):
    """One cast before the branches, and one of each, which cannot see the first."""
    half = x.half()
    sines = half.sin()
    chosen = torch.cond(sines.sum() > 0, lambda y: y.exp(), lambda y: y.cos(), (half,))
    return sines, chosen, half.tan()


COPIES = [
    Case("expand", lambda x: x.expand(3, -1).expand(x.shape) - 1, rows, wrong=None),
    Case("larger", lambda x: x.expand(2, -1, -1) * 1, rows, wrong=None),
    Case("factor", lambda x: x.exp().mul(1.0) * 1, rows, wrong=None),
    Case("to_float", lambda x: (x > 0).mul(1) * 1.0, rows, wrong=None),
    Case("minus_zero", lambda x: torch.stack([-x * 0.0 + 0, x * 0.0 + 0]), rows, wrong=None),
    Case("cast_in_branches", cast_in_branches, rows, wrong=None, tolerance=1e-3),
    Case("integer", lambda x: (x * 4).to(torch.int64) + 0, rows, wrong=None),
]
test_copies, _ = fix_tests("copies", COPIES)


def twice_in_float32(x):
    half = x.half()
    return half.sin(), half.cos()


def once_by_the_program(x):
    half = x.half()
    return half.float() + 2, half.sin()


@pytest.mark.parametrize("symbolic", (False, True))
@pytest.mark.parametrize(
    ("function", "operators"),
    [
        (lambda x: x.exp().expand(x.shape), ["exp"]),
        (lambda x: (x.exp() * 1).mul(1.0), ["exp"]),
        (lambda x: x * 1, ["multiply"]),  # a result of its own, and not the input
        (lambda x: x.long() + 0, ["astype"]),
        (twice_in_float32, ["astype", "astype", "sin", "astype", "cos", "astype"]),
        (once_by_the_program, ["astype", "astype", "add", "sin", "astype"]),
    ],
    ids=("expand", "factor", "input", "integer", "operators", "program"),
)
def test_what_leaves_a_tensor_as_it_is_makes_no_kernel(function, operators, symbolic):
    case = Case("copies", function, lambda n: (torch.randn(2, n, n),))
    made = _probe.operators_of(import_program(export(case, symbolic), True)["main"])
    assert [name.removeprefix("relax.") for name in made[: len(operators)]] == operators
