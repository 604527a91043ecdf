"""Programs that write to their buffers or inputs: refused by name, or made explicit."""

import numpy as np
import pytest
import torch
from frontend_cases import Case, compile_module, fix_tests, import_program

import tvm_kokoro_ext
from tvm_kokoro_ext import UnsupportedOperatorError, with_explicit_state

STEPS = 64


def returned(x):
    x.mul_(2.0)
    return x


def overwritten_copy(x):
    y = x.clone()
    y[:, 0] = 3.0
    return y


test_kept, _ = fix_tests(
    "mutation",
    [
        Case("returned", returned, lambda n: (torch.randn(3, n),), wrong=None),
        Case("copy", overwritten_copy, lambda n: (torch.randn(3, n),), wrong=None),
    ],
)


class Scratch(torch.nn.Module):
    """A buffer that each call overwrites before it reads it: nothing is kept."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scratch", torch.zeros(4))

    def forward(self, x):
        self.scratch.copy_(x)
        return self.scratch * 2


def test_a_buffer_that_is_written_before_it_is_read_is_no_state():
    program = torch.export.export(Scratch(), (torch.ones(4),))
    (got,) = compile_module(import_program(program, True))(np.arange(4, dtype="float32"))
    np.testing.assert_array_equal(got, 2 * np.arange(4, dtype="float32"))


class Cache(torch.nn.Module):
    """Attention over everything seen so far, kept in two static buffers, at a dynamic position."""

    def __init__(self, write):
        super().__init__()
        self.write = write
        self.project = torch.nn.Linear(8, 24)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, 2, STEPS, 4), persistent=False)

    def forward(self, x, position):
        q, k, v = (t.view(1, 1, 2, 4).transpose(1, 2) for t in self.project(x).chunk(3, dim=-1))
        if self.write == "index_copy_":
            self.keys.index_copy_(2, position, k)
            self.values.index_copy_(2, position, v)
        elif self.write == "index_put_":
            self.keys[:, :, position] = k
            self.values[:, :, position] = v
        else:
            at = position.item()
            torch._check(at >= 0)
            torch._check(at < STEPS)
            self.keys[:, :, at : at + 1] = k
            self.values[:, :, at : at + 1] = v
        mask = torch.arange(STEPS)[None, :] <= position[:, None]
        mixed = torch.nn.functional.scaled_dot_product_attention(
            q, self.keys, self.values, attn_mask=mask
        )
        return mixed.transpose(1, 2).reshape(1, 1, 8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("write", "decomposed"),
    [("index_copy_", True), ("index_put_", True), ("slice", True), ("index_copy_", False)],
)
def test_a_cache_made_explicit_is_right_over_its_whole_length(write, decomposed):
    torch.manual_seed(0)
    model = Cache(write).eval()
    example = (torch.randn(1, 1, 8), torch.tensor([3]))
    with torch.no_grad():
        program, state = with_explicit_state(torch.export.export(model, example))
    assert list(state) == ["keys", "values"]
    run = compile_module(import_program(program, decomposed))
    held = [tensor.numpy() for tensor in state.values()]
    for step in range(STEPS):
        x, position = torch.randn(1, 1, 8), torch.tensor([step])
        with torch.no_grad():
            want = model(x, position).numpy()
        got, *held = run(x.numpy(), position.numpy(), *held)
        np.testing.assert_allclose(got, want, atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(held[0], model.keys.numpy(), atol=1e-6)


@pytest.mark.parametrize("decomposed", [True, False])
def test_a_cache_in_a_buffer_is_refused_by_its_name(decomposed):
    program = torch.export.export(Cache("index_put_"), (torch.randn(1, 1, 8), torch.tensor([3])))
    with pytest.raises(UnsupportedOperatorError, match="'keys', 'values'.*with_explicit_state"):
        import_program(program, decomposed)


class Writes(torch.nn.Module):
    def forward(self, x, counts):
        counts.add_(1.0)
        return x * counts


@pytest.mark.parametrize("decomposed", [True, False])
def test_an_input_whose_new_value_is_lost_is_refused_by_its_name(decomposed):
    program = torch.export.export(Writes(), (torch.ones(3), torch.ones(3)))
    with pytest.raises(UnsupportedOperatorError, match=r"input 'counts'.*Return.*x\.clone\(\)"):
        import_program(program, decomposed)


def test_an_input_that_is_written_to_becomes_a_result():
    example = (torch.ones(6), torch.ones(6))
    shapes = ({0: torch.export.Dim.AUTO}, {0: torch.export.Dim.AUTO})
    program = torch.export.export(Writes(), example, dynamic_shapes=shapes)
    program, state = with_explicit_state(program)
    assert not state
    x, counts = np.arange(9, dtype="float32"), np.arange(9, dtype="float32")
    got, written = compile_module(import_program(program, True))(x, counts)
    np.testing.assert_array_equal(got, x * (counts + 1))
    np.testing.assert_array_equal(written, counts + 1)


def test_training_mode_is_refused_with_the_way_around():
    program = torch.export.export(torch.nn.BatchNorm1d(3).train(), (torch.randn(4, 3),))
    with pytest.raises(UnsupportedOperatorError, match=r"running_mean.*export module\.eval\(\)"):
        import_program(program, True)


class TwoNames(torch.nn.Module):
    """A cache that torch finds twice, as a buffer and as a plain tensor of a list."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2, 3))
        self.held = [self.seen]

    def forward(self, x):
        self.held[0].add_(x)
        return self.held[0] * 1.0


def test_a_buffer_under_two_names_is_one():
    with torch.no_grad():
        program, state = with_explicit_state(torch.export.export(TwoNames(), (torch.ones(2, 3),)))
    assert list(state) == ["seen"]
    run = compile_module(import_program(program, True))
    x, seen = np.ones((2, 3), "float32"), state["seen"].numpy()
    for times in (1, 2, 3):
        got, seen = run(x, seen)
        np.testing.assert_array_equal(got, times * x)


def test_stock_loses_what_is_written():
    """Or returns it in front of the result (0.25)."""
    program = torch.export.export(Writes(), (torch.ones(3), torch.ones(3)))
    with tvm_kokoro_ext.disabled("all"):
        run = compile_module(import_program(program, True))
    counts = np.ones(3, "float32")
    results = run(np.ones(3, "float32"), counts)
    np.testing.assert_array_equal(results[-1], [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(counts, [1.0, 1.0, 1.0])
