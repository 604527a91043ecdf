"""Reductions and scans over axes that are empty only when the program runs."""

import numpy as np
import pytest
import torch
import tvm
from frontend_cases import Case, compile_module, export, import_program, module_of, state_of
from tvm import te, topi

import tvm_kokoro_ext
from tvm_kokoro_ext import State, _compat


def selected(x):
    return x[x[:, 0] > 0]


def sums(x):
    y = selected(x)
    return y.sum(0), y.mean(0), y.prod(0), y.var(0), y.norm(dim=0), y.sum() + 1


def products(x):
    y, positive = selected(x), x[x > 0]
    return y.T @ y, torch.einsum("ji,jk->ik", y, y), torch.dot(positive, positive)


def of_other_dtypes(x):
    y = selected(x)
    halves = y.half().sum(0), y.bfloat16().sum(0).float()
    return *halves, y.double().sum(0), y.long().sum(0), (y > 0).all(0), (y > 0).any(0)


def attended(x):
    y = selected(x)
    attention = torch.nn.functional.scaled_dot_product_attention(x[None], y[None], y[None])
    return torch.count_nonzero(y, dim=0), attention


def program_of(function):
    return torch.export.export(module_of(Case("rows", function, rows)), rows(9))


def rows(n):
    """Four columns, and `n` rows that are selected among nine."""
    return (torch.randn(9, 4).abs() * torch.where(torch.arange(9) < n, 1.0, -1.0)[:, None] + 0.0,)


def logarithms(x):
    return x.logsumexp(0), x.T.logsumexp((0, 1), keepdim=True), x.logsumexp(1)


def distinct(x):
    runs = torch.unique_consecutive(x.round(), return_inverse=True, return_counts=True)
    return torch.unique(x.round()), *torch.unique(x.round(), return_counts=True), *runs


def found(x):
    places = torch.nonzero_static(x > 0, size=5)
    return places, torch.nonzero_static(x[:, 0], size=2, fill_value=7)


@pytest.mark.parametrize("decomposed", [True, False])
@pytest.mark.parametrize("function", [logarithms, distinct, found])
def test_symbolic_sizes_may_be_0(function, decomposed):
    case = Case(function.__name__, function, lambda n: (torch.randn(n, 3) * 3,))
    run = compile_module(import_program(export(case, symbolic=True), decomposed))
    for n in (9, 0, 1):
        (x,) = case.inputs(n)
        for mine, theirs in zip(run(x.numpy()), function(x), strict=True):
            torch.testing.assert_close(torch.from_numpy(mine), theirs)


@pytest.mark.parametrize("function", [sums, products, of_other_dtypes, attended])
def test_equals_torch(function):
    run = compile_module(import_program(program_of(function), True))
    for n in (9, 0, 1, 0):
        (x,) = rows(n)
        for mine, theirs in zip(run(x.numpy()), function(x), strict=True):
            tolerance = {"rtol": 1e-3, "atol": 1e-3, "equal_nan": True}
            torch.testing.assert_close(
                torch.from_numpy(mine).reshape(theirs.shape), theirs, **tolerance
            )


def test_a_dimension_that_may_be_0():
    def totals(x):
        return x.sum(0), x.sum(1), x.T @ x

    number = torch.export.Dim("number", min=0)
    module = module_of(Case("totals", totals, rows))
    program = torch.export.export(module, rows(9), dynamic_shapes=(({0: number},),))
    run = compile_module(import_program(program, True))
    for n in (9, 0, 1, 0):
        x = torch.randn(n, 4)
        for mine, theirs in zip(run(x.numpy()), totals(x), strict=True):
            torch.testing.assert_close(torch.from_numpy(mine), theirs)


EXTREMA = {
    "max": lambda x: selected(x).max(),
    "max_dim": lambda x: selected(x).max(0).values,
    "min": lambda x: x[x > 0].min(),
    "argmax": lambda x: selected(x).argmax(),
    "argmin_dim": lambda x: selected(x).argmin(0),
    "aminmax": lambda x: torch.aminmax(selected(x)).max,
    "mode": lambda x: selected(x).mode(0).values,
    "median": lambda x: selected(x).median(0).values,
    "kthvalue": lambda x: selected(x).kthvalue(2, 0).values,
    "topk": lambda x: selected(x).topk(k=2, dim=0).values,
}


@pytest.mark.parametrize("function", [pytest.param(f, id=name) for name, f in EXTREMA.items()])
def test_raises_where_torch_does(function):
    run = compile_module(import_program(program_of(function), True))
    for n in (9, 2):
        (x,) = rows(n)
        (mine,) = run(x.numpy())
        torch.testing.assert_close(torch.from_numpy(mine).reshape(function(x).shape), function(x))
    with pytest.raises(Exception, match="mismatch"):
        run(rows(0)[0].numpy())


def test_extrema_that_always_have_elements_are_not_checked():
    def largest(x):
        return x.max(1).values, x.topk(2).values, x.sum(0)

    marks = (({0: torch.export.Dim.AUTO},),)
    module = module_of(Case("largest", largest, rows))
    program = torch.export.export(module, rows(9), dynamic_shapes=marks)
    assert "match_cast" not in str(import_program(program, True)["main"])


TWO_SUMS = """
@T.prim_func(s_tir=True)
def sums(a: T.handle, b: T.Buffer((4,), "float32"), c: T.Buffer((4,), "float32")):
    n = T.int64()
    x = T.match_buffer(a, (n, 4), "float32")
    for i, k in T.grid(4, n):
        with T.sblock("sum"):
            own, row = T.axis.remap("SR", [i, k])
            with T.init():
                b[own] = T.float32(0)
            b[own] = b[own] + x[row, own]
    for i, k in T.grid(4, n):
        with T.sblock("sum"):
            own, row = T.axis.remap("SR", [i, k])
            with T.init():
                c[own] = T.float32(0)
            c[own] = c[own] + x[row, own] * T.float32(2)
"""


def test_blocks_of_one_name():
    kernel = tvm.script.from_source(TWO_SUMS)
    run = tvm.compile(kernel, tvm.target.Target({"kind": "llvm"}))
    for n in (3, 0):
        results = [tvm.runtime.tensor(np.full(4, 7, "float32")) for _ in range(2)]
        run(tvm.runtime.tensor(np.ones((n, 4), "float32")), *results)
        assert [r.numpy().tolist() for r in results] == [[n] * 4, [2 * n] * 4]


@pytest.mark.parametrize("scan", [topi.cumsum, topi.cumprod])
def test_a_scan_of_no_elements_writes_nothing(scan):
    """Stock reads and writes the place of the first element of each row."""
    assert state_of("empty_scan") in (State.APPLIED, State.NOT_NEEDED)
    x = te.placeholder((3, _compat.tir_var("n")), "float32", name="x")
    kernel = te.create_prim_func([x, scan(x, axis=1)])
    run = tvm.compile(kernel, tvm.target.Target({"kind": "llvm"}))
    for n in (0, 2):
        given, result = (tvm.runtime.tensor(np.full(6, value, "float32")) for value in (1, 7))
        run(given._create_view((3, n)), result._create_view((3, n)))
        wanted = np.full(6, 7)
        wanted[: 3 * n] = getattr(np, scan.__name__)(np.ones((3, n)), axis=1).ravel()
        np.testing.assert_array_equal(result.numpy(), wanted)


@pytest.mark.variants
def test_stock_gives_what_was_in_memory():
    if state_of("empty_reduction") is State.NOT_NEEDED:
        pytest.skip("this TVM has no such defect")
    with tvm_kokoro_ext.disabled("empty_reduction"):
        run = compile_module(import_program(program_of(sums), True))
        (x,) = rows(0)
        found = [run(np.full((9, 4), 7, "float32")) and run(x.numpy())[0] for _ in range(3)]
    assert any(np.any(total != 0) for total in found)
