"""What torch's decomposition of a program raises: views behind attention, explained errors."""

import re

import pytest
import torch
from frontend_cases import Case, fix_tests, import_program

import tvm_kokoro_ext
from tvm_kokoro_ext import UnsupportedOperatorError


def attention(x, mask):
    """The attention of GPT-2: with a mask, heads joined by a reshape, and the rows viewed."""
    batch, length, width = x.shape
    heads = x.view(batch, length, 2, width // 2).transpose(1, 2)
    mixed = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, attn_mask=mask)
    return mixed.transpose(1, 2).reshape(batch, length, width).view(-1, width)


def attention_in_place(x, mask):
    """A write through the view: it has to be seen in what is viewed."""
    rows = x * 1
    rows.view(-1)[0] = 3.0
    return attention(rows, mask) + rows.sum()


def sequence(n):
    return torch.randn(2, n, 8), torch.randn(1, 1, n, n)


DECOMPOSED = {"decomposed": (True,)}
VIEWS = [
    Case("attention", attention, sequence, **DECOMPOSED),
    Case("in_place", attention_in_place, sequence, **DECOMPOSED),
    Case(
        "bool_mask",
        lambda x, mask: attention(x, mask > 0) * 2,
        sequence,
        **DECOMPOSED,
        wrong=None,
        symbolic=(False,),
    ),
    Case("causal", lambda x, mask: attention(x, None) + mask.sum(), sequence, wrong=None),
]
test_views, test_views_stock = fix_tests("views", VIEWS)


@torch.library.custom_op("kokoro_ext_test::whole", mutates_args=())
def whole(x: torch.Tensor) -> torch.Tensor:
    """An operator whose meta function refuses a program that is traced again."""
    return x.clone()


_seen = []


@whole.register_fake
def _(x):
    _seen.append(x)
    if len(_seen) > 1:
        raise RuntimeError("traced twice")
    return torch.empty_like(x)


class Whole(torch.nn.Module):
    def forward(self, x):
        return whole(x) + 1


def test_what_torch_raises_is_explained():
    """With the operator, the line of the program, and a way around."""
    program = torch.export.export(Whole(), (torch.ones(3),))
    with pytest.raises(UnsupportedOperatorError) as caught:
        import_program(program, True)
    message = str(caught.value)
    assert caught.value.op == "kokoro_ext_test.whole.default"
    assert "RuntimeError: traced twice" in message
    assert re.search(r"\(.*test_fix_decomposition\.py, line \d+: .*whole\(x\) \+ 1", message)
    assert "run_ep_decomposition=False" in message
    with tvm_kokoro_ext.disabled("all"), pytest.raises(RuntimeError, match="traced twice"):
        import_program(program, True)


class AroundTheMiddle(torch.nn.Module):
    """A slice whose bounds are read: torch asserts where its first element lies in memory."""

    def forward(self, x, n):
        reach = n.item()
        return x[8 - reach : 8 + reach].unsqueeze(0).contiguous() * 2


def test_a_program_is_traced_no_more_often_than_its_decompositions_need(monkeypatch):
    """The offset in memory has no converter, and torch's decomposition of it is itself."""
    program = torch.export.export(AroundTheMiddle(), (torch.ones(16, 4), torch.tensor(3)))
    traces = []
    original = torch.export.ExportedProgram.run_decompositions

    def counted(self, *table):
        traces.append(self)
        return original(self, *table)

    monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", counted)
    import_program(program, True)
    assert len(traces) <= 2


RAW = {"decomposed": (False,), "symbolic": (False,)}


def matrices(n):
    return (torch.randn(3, n),)


def in_branches(write):
    """The function in one branch, and something else in the other."""
    return lambda x: torch.cond(x.sum() < 1e6, write, lambda x: x * 2, (x,))


def written_copy(x):
    x = x.clone()
    x[1] += 2.0
    return x.mul_(3)


def written_part(x):
    made = torch.zeros_like(x)
    made[:, 1:3].copy_(x[:, :2])
    return made


def other_modes(x):
    with torch.no_grad():
        x = x + 1
    with torch.enable_grad():
        return x * 2


def mixed(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return (x @ x.t()).float()


def scaled(x):
    """Constants of numbers in two branches, one of them inside the other, that differ."""

    def inner(x):
        return torch.cond(
            x[0, 0] > 9,
            lambda x: x * torch.tensor(2.0),
            lambda x: x - torch.tensor([[1], [2], [3]]),
            (x,),
        )

    return torch.cond(x.sum() < 1e6, inner, lambda x: x * torch.tensor([[4.0]]), (x,))


INSIDE = [
    Case("tensors", scaled, matrices),
    Case("copy", in_branches(written_copy), matrices, **RAW),
    Case("part", in_branches(written_part), matrices, **RAW),
    Case("no_converter", in_branches(lambda x: x + x.t().exp().sum()), matrices, **RAW),
    Case("autocast_branch", in_branches(lambda x: x + mixed(x).sum()), matrices, **RAW),
    Case("gradients", other_modes, matrices, **RAW),
    Case("autocast", mixed, matrices, tolerance=2e-2, **RAW),
]
test_inside, test_inside_stock = fix_tests("decompose", INSIDE)
