"""Sums and normalizations of more float32 numbers than one sum can take without losing digits."""

import pytest
import torch
import tvm
from frontend_cases import Case, fix_tests
from torch.nn import functional
from tvm import relax

import tvm_kokoro_ext
from tvm_kokoro_ext import _compat


def row(n):
    return (torch.rand(n * 30011) + 100,)


def images(n):
    return (torch.rand(3, 2, n * 50, 401) + 100,)


def columns(n):
    return (torch.rand(n * 5003, 3) + 100,)


def blocks(n):
    return (torch.rand(n - 4, n * 101, n * 111) + 100,)


def pixels(n):
    return (torch.rand(n, 3, 301, 201) + 100,)


def tokens(n):
    return (torch.rand(n, 197, 24),)


def windows(n):
    return (torch.rand(2, n * 5, 14, 300),)


def halves(n):
    return (torch.randn(n, 512).half() + 10,)


def zeros(n):
    return (torch.rand(n, 2**15).floor_divide(0.9999),)


def shares(x):
    return x.softmax(1) * x.shape[1], x.log_softmax(1)


def averages(x):
    return x.mean(), x.sum(), x.var(), x.std(correction=0)


def along_rows_and_columns(x):
    return x.mean((2, 3)), x.sum((0, 2, 3), keepdim=True), x.std((0, 2)), x.var((1, 2, 3))


LONG = [
    Case("all", averages, row),
    Case("axes", along_rows_and_columns, images),
    Case("first_axis", lambda x: (x.sum(0), x.mean(0, keepdim=True), x.var(0)), columns),
    Case("not_adjacent", lambda x: (x.sum((0, 2)), x.mean((1, 3))), images, wrong=None),
    # PyTorch's own norm of float32 is off by 1e-5, depending on its number of threads.
    Case("norm", lambda x: (x.norm(), x.norm(1), x.nansum()), row, reference64=True),
    Case("squares", lambda x: torch.nn.functional.mse_loss(x, torch.zeros_like(x)), row),
    Case("running", lambda x: (x.cumsum(0), (x - 99.5).exp().log().cumsum(0)), row),
    Case(
        "running_columns",
        lambda x: (x.cumsum(0), ((x - 100.5) / 512 + 1).cumprod(0)),
        columns,
        wrong=None,
    ),
    Case(
        "running_last_of_three", lambda x: (x.cumsum(-1), (x / 101).half().cumsum(2)), blocks, None
    ),
    Case("running_in_the_middle", lambda x: (x.cumsum(1), (x / 100.5).cumprod(1)), blocks, None),
    Case("of_a_mask", lambda x: ((x > 100.5).float().mean(), (x > 100.5).sum()), row, wrong=None),
    Case("float64", averages, lambda n: (row(n)[0].double(),), wrong=None),
    # The tolerance is that of float16; stock's sum is of float32, and wrong by more.
    Case("float16", lambda x: (x - 99).mean(), lambda n: (row(n)[0].half(),), None, 2e-3),
]
# Softmax of a fixed number, which is the size of a vocabulary, and layer_norm of any number.
LONG += [
    Case("layer_norm", lambda x: functional.layer_norm(x, x.shape[1:]), pixels, reference64=True),
    Case(
        "layer_norm_of_float16", lambda x: functional.layer_norm(x, x.shape[1:]), halves, None, 2e-3
    ),
    Case("softmax", shares, lambda n: (torch.rand(n, 2**18 + 3),)),
    Case("softmax_of_columns", lambda x: shares(x.mT), lambda n: (torch.rand(2**18, n),)),
    Case("softmax_of_an_infinity", lambda x: (1 / x).softmax(1), zeros, wrong=None),
]
# Whole rows are added to each other where they are long enough.
LONG += [
    Case("rows", lambda x: (x.mean(1), x.sum((0, 1)), x.mean((0, 1), keepdim=True)), tokens, None),
    Case("rows_of_rows", lambda x: (x.mean((1, 2)), x.sum((0, 1, 2))), windows, None),
    Case("rows_of_infinities", lambda x: (x / (x > 0.1)).mean(1), tokens, wrong=None),
    Case(
        "neighbours",
        lambda x: (x.mean(-1), x.var(2), x.sum((1, 2)), x.std((0, 2), keepdim=True)),
        lambda n: (torch.rand(n, 3, 97),),
        wrong=None,
    ),
    Case("short_rows", lambda x: x[..., :7].mean(1), tokens, wrong=None),
    Case("rows_of_any_width", lambda x: x.mT.sum(1), lambda n: (torch.randn(3, n, 197),), None),
]
# Few numbers of a symbolic axis, which may be many in another call.
LONG += [
    Case("few", averages, lambda n: (torch.randn(n),), wrong=None),
    Case("few_rows", lambda x: (x.mean((1, 2)), x.sum(0)), lambda n: (torch.randn(n, n, 3),), None),
    Case("infinite", lambda x: (x / 0).sum(0), columns, wrong=None),
]
test_long_sums, test_long_sums_stock = fix_tests("long_sums", LONG)


def kernels(target, shape):
    """The kernels that a sum, a mean and a variance of all elements become for a target."""
    x = relax.Var("x", _compat.tensor_type(list(shape), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        made = [builder.emit(f(x)) for f in (relax.op.sum, relax.op.mean, relax.op.variance)]
        builder.emit_func_output(relax.Tuple(made))
    with tvm.target.Target(target):
        return relax.transform.LegalizeOps()(builder.get())


@pytest.mark.parametrize(("target", "shape"), [("cuda", (2**20,)), ("llvm", (2, 48))])
def test_kernels_of_gpus_and_of_short_sums_are_those_of_stock(target, shape):
    ours = kernels(target, shape)
    with tvm_kokoro_ext.disabled("all"):
        stock = kernels(target, shape)
    assert ours.script() == stock.script()


@pytest.mark.parametrize(("rows", "in_float64"), [(64, False), (65, True)])
def test_many_rows_are_summed_in_float64_one_after_the_other(rows, in_float64):
    x = relax.Var("x", _compat.tensor_type([2, rows, 8], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.mean(x, [1])))
    with tvm.target.Target("llvm"):
        made = relax.transform.LegalizeOps()(builder.get())
    assert ('"float64"' in made.script()) == in_float64


def test_numbers_that_no_call_has_are_summed_to_nothing():
    class Sums(torch.nn.Module):
        def forward(self, x):
            return x.sum(), x.mean()

    sizes = ({0: torch.export.Dim("n", min=0)},)
    program = torch.export.export(Sums(), (torch.rand(8),), dynamic_shapes=sizes)
    module = tvm.relax.frontend.torch.from_exported_program(program)
    machine = relax.VirtualMachine(tvm.compile(module, "llvm"), tvm.cpu())
    empty = tvm.runtime.tensor(torch.zeros(0).numpy())
    total, mean = (t.numpy() for t in machine["main"](empty))
    assert total == 0
    assert mean != mean
