"""Elementary functions against float64: from 1e-30 to overflow, zeros, infinities and NaN."""

import re

import numpy as np
import pytest
import torch
from frontend_cases import Case, compile_module, export, import_program
from packaging.version import Version
from torch.nn import functional

import tvm_kokoro_ext
from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import te, tirx, tvm

SIZES = torch.logspace(-30, 2, 400)
SPECIAL = torch.tensor([0.0, -0.0, float("inf"), float("-inf"), float("nan")])
ALL = torch.cat([SIZES, -SIZES, SPECIAL])
UNIT = ALL.clamp(-0.999999, 0.999999)
NOT_BELOW = torch.cat([SIZES, -SIZES.clamp(max=0.99), SPECIAL])

FUNCTIONS = {
    "tanh": (torch.tanh, ALL),
    "sinh": (torch.sinh, ALL.clamp(-80, 80)),
    "asinh": (torch.asinh, ALL),
    "atanh": (torch.atanh, UNIT),
    "log1p": (torch.log1p, NOT_BELOW),
    "expm1": (torch.expm1, ALL),
    "erfc": (torch.erfc, ALL.clamp(max=9)),
    "softplus": (functional.softplus, ALL.clamp(min=-80)),
    "logsigmoid": (functional.logsigmoid, ALL.clamp(max=80)),
}


def computed(function, x, decomposed):
    program = export(Case("program", function, lambda _: (x,)), symbolic=False)
    return torch.from_numpy(compile_module(import_program(program, decomposed))(x.numpy())[0])


def ulps(result, exact):
    """The largest error in units of the last place of float32, where the exact value is normal."""
    normal = torch.isfinite(exact) & (exact.abs() > 1.2e-38)
    place = 2.0 ** (torch.floor(torch.log2(exact[normal].abs())) - 23)
    return float(((result.double()[normal] - exact[normal]).abs() / place).max())


@pytest.mark.parametrize("decomposed", [True, False], ids=["ep", "raw"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_small_numbers_keep_their_digits(name, decomposed):
    function, x = FUNCTIONS[name]
    exact, eager = function(x.double()), function(x)
    result = computed(function, x, decomposed)
    assert ulps(result, exact) <= max(4.0, ulps(eager, exact))
    np.testing.assert_array_equal(torch.isnan(result), torch.isnan(eager))
    np.testing.assert_array_equal(torch.isinf(result), torch.isinf(eager))
    numbers = ~torch.isnan(eager)
    np.testing.assert_array_equal(
        torch.signbit(result[numbers]), torch.signbit(eager[numbers]), err_msg="sign, of zero too"
    )


@pytest.mark.parametrize("name", ["tanh", "log1p", "expm1", "atanh", "softplus"])
def test_stock_loses_them(name):
    function, x = FUNCTIONS[name]
    with tvm_kokoro_ext.disabled("all"):
        try:
            result = computed(function, x, False)
        except Exception as error:
            if _compat.tvm_version() >= Version("0.27"):
                raise
            pytest.skip(f"this TVM lacks the operator: {error}")
    assert ulps(result, function(x.double())) > 1000


def kernel_of_vectors(function, dtype, count):
    """The compiled kernel that computes `function` of `count` vectors of four."""
    taken = te.placeholder((count,), f"{dtype}x4", name="taken")
    made = te.compute((count,), lambda i: function(taken[i]), name="made")
    kernel = te.create_prim_func([taken, made]).with_attr("global_symbol", "kernel")
    return tirx.build(kernel, {"kind": "llvm"})


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", ["tanh", "atanh", "sinh", "asinh", "log1p"])
def test_vectors_are_computed_like_their_elements(name, dtype):
    x = UNIT[:400:2].reshape(-1, 4).to(getattr(torch, dtype)).numpy()
    given, out = (tvm.runtime.empty((len(x),), f"{dtype}x4") for _ in range(2))
    kernel_of_vectors(getattr(tirx, name), dtype, len(x))["kernel"](given.copyfrom(x), out)
    exact = getattr(torch, name)(torch.from_numpy(x).double()).numpy()
    limit = {"float16": 1e-3, "float32": 3e-7, "float64": 1e-15}[dtype]
    np.testing.assert_allclose(out.numpy(), exact, rtol=limit, atol=float(np.finfo(dtype).tiny))


def test_a_function_of_a_function_of_vectors_is_computed_once_for_each_element():
    built = kernel_of_vectors(lambda x: tirx.sinh(tirx.sinh(tirx.sinh(x))), "float32", 1)
    calls = [line for line in built.inspect_source("ll").splitlines() if "@sinhf(" in line]
    assert len([line for line in calls if "call" in line]) == 12
    built = kernel_of_vectors(lambda x: tirx.tanh(tirx.tanh(tirx.tanh(x))), "float32", 1)
    calls = [line for line in built.inspect_source("ll").splitlines() if "@llvm.exp." in line]
    assert len([line for line in calls if "call" in line]) == 3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_expm1_is_exact_where_the_series_ends(dtype):
    x = torch.linspace(-1, 1, 20001, dtype=getattr(torch, dtype))
    result = computed(torch.expm1, x, False)
    np.testing.assert_allclose(
        result, torch.expm1(x.double()), rtol={"float32": 3e-7, "float64": 5e-16}[dtype]
    )


def test_tanh_is_exact_where_the_series_ends_and_one_far_from_zero():
    x = torch.linspace(-12, 12, 200001)
    result = computed(torch.tanh, x, False)
    assert ulps(result, torch.tanh(x.double())) < 2.5
    assert (result[x.abs() > 9.1].abs() == 1).all()


def test_atanh_is_exact_up_to_one_and_nan_beyond():
    x = torch.cat([1 - torch.arange(100000) * 2**-24, torch.linspace(1e-5, 0.9, 100001)])
    result = computed(torch.atanh, torch.cat([x, -x]), False)
    exact = torch.atanh(torch.cat([x, -x]).double())
    assert ulps(result, exact) < 2.5
    edges = torch.tensor([1.0, -1.0, 0.0, -0.0, 1e-45, -1e-45, 1.0000001, -3.0, 3e38, -3e38])
    edges = torch.cat([edges, SPECIAL])
    result, wanted = computed(torch.atanh, edges, False), torch.atanh(edges)
    torch.testing.assert_close(result, wanted, rtol=0, atol=0, equal_nan=True)
    numbers = ~torch.isnan(wanted)
    assert torch.equal(torch.signbit(result[numbers]), torch.signbit(wanted[numbers]))


@pytest.mark.parametrize("name", ["log1p", "expm1", "elu", "softplus", "atanh"])
def test_no_function_of_the_c_library_is_called_for_each_float32(name):
    function = getattr(functional, name, None) or getattr(torch, name)
    program = export(Case("program", function, lambda _: (torch.zeros(4096),)), symbolic=False)
    executable = tvm.compile(import_program(program, False), tvm.target.Target({"kind": "llvm"}))
    (built,) = [part for part in (executable.mod, *executable.mod.imports) if part.kind == "llvm"]
    text = built.inspect_source("ll")
    assert "fmul <4 x float>" in text
    assert not re.findall(r"@(?:llvm\.(?:exp|log)|atanh)\S*\(", text)


def test_softplus_of_a_large_threshold_does_not_overflow():
    x = torch.tensor([90.0, 1000.0, 3e38, -90.0, -1000.0, float("nan")])
    result = computed(lambda value: functional.softplus(value, 1.0, 1e38), x, False)
    exact = torch.where(x < 3e37, functional.softplus(x.double(), 1.0, 1e38), x.double())
    assert ulps(result, exact) <= 2
