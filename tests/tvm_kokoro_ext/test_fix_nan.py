"""NaN in extrema and comparisons, in all operators that torch has for them."""

import numpy as np
import pytest
import torch
import tvm
from frontend_cases import Case, compile_module, eager, export, fix_tests, import_program
from torch.nn import functional
from tvm import relax

import tvm_kokoro_ext
from tvm_kokoro_ext import _compat

NAN, INF = float("nan"), float("inf")


def rows(n):
    """NaN of both signs in front, inside and at the end of rows, beside infinities and zeros."""
    x = torch.randn(4, n)
    x[0, 1], x[1, 0], x[2, n - 1] = NAN, -torch.tensor(NAN), NAN
    x[3, 0], x[3, 2], x[3, 3], x[2, 0] = INF, -0.0, 0.0, -INF
    return (x,)


def pair(n):
    return (*rows(n), rows(n)[0].flip(0))


def image(n):
    x = torch.randn(1, 3, 6, n)
    x[0, 0, 1, 1], x[0, 1, 0, 0], x[0, 2] = NAN, NAN, -INF
    return (x,)


def clamps(x):
    zero, one = torch.zeros(1), torch.ones(1)
    numbers = x.clamp(-0.5, 0.5), x.clamp(min=0.0), x.clamp(max=0.0), x.clamp(2.0, 1.0)
    return *numbers, x.clamp(zero, one), x.clamp(max=x.shape[1]), x.clamp_min(x.flip(0))


def activations(x):
    names = "relu relu6 hardtanh hardswish hardsigmoid elu leaky_relu softplus logsigmoid"
    return tuple(getattr(functional, name)(x) for name in names.split())


def halves(x):
    half = x.half()
    results = half.amax(1), torch.maximum(half, half.flip(1)), half.clamp(-1, 1)
    return *(r.float() for r in results), half.argmax(1), x.double().amin(0), x.double().argmin(1)


RAW = {"symbolic": (True,), "decomposed": (False,)}
STATIC = {"symbolic": (False,), "decomposed": (True,)}


def extrema(x, y):
    two = torch.maximum(x, y), torch.minimum(x, y), torch.max(y, x), torch.minimum(x, y[:, :1])
    return *two, torch.fmax(x, y), torch.fmin(y, x)


ELEMENTWISE = [
    Case("clamp", clamps, rows, **RAW),
    Case("activations", activations, rows, decomposed=(True,), symbolic=(True,)),
    Case("activations_raw", activations, rows, **RAW),
    Case("two", extrema, pair, **RAW),
]
test_elementwise, test_elementwise_stock = fix_tests("nan_elementwise", ELEMENTWISE)


def reductions(x):
    whole = x.max(), x.min(), x.argmax(), x.argmin()
    return *whole, x.amax(1), x.amin(0, True), x.amax((0, 1)), x.argmin(1, True), x.norm(INF, 1)


def zeros_are_equal(x):
    return (x.nan_to_num().sign() * -0.0).argmax(1)


REDUCTIONS = [
    Case("extrema", reductions, rows, **RAW),
    Case("with_index", lambda x: (*x.max(1), *x.min(0, keepdim=True)), rows, **RAW),
    Case("with_index_static", lambda x: (*x.max(0), *x.min(1)), rows, **STATIC),
    Case("zeros_are_equal", zeros_are_equal, rows, wrong=None, **STATIC),
    Case("dtypes", halves, rows, **STATIC),
]
test_reductions, test_reductions_stock = fix_tests("nan_reductions", REDUCTIONS)


def pools(x):
    padded = functional.max_pool2d(x, 3, 2, 1, ceil_mode=True)
    volume = functional.max_pool3d(x, (1, 2, 2))
    return functional.max_pool2d(x, 2), padded, volume, functional.max_pool2d(x.half(), 2).float()


def large_windows(x):
    """Windows that are pooled one axis after the other, and rows of one that is not written out."""
    row = torch.cat([x] * 4, -1)
    return (
        functional.max_pool2d(x, 5, 1, 2),
        functional.max_pool2d(x, (4, 3), 2, 1, ceil_mode=True),
        functional.max_pool2d(x, (3, 2), (1, 2), 1, (2, 1)),
        functional.max_pool1d(row[0], 19, 2, 9),
        functional.max_pool3d(x, 3, 1, 1),
        functional.max_pool2d(x.double(), 2),
    )


def signs_of_zeros(x):
    """Of equal zeros the first stays, whose sign is that of the quotient."""
    zeros = torch.where(x.nan_to_num() > 0, 0.0, -0.0)
    return 1 / functional.max_pool2d(zeros, 2), 1 / functional.max_pool2d(zeros, 5, 1, 2)


def windows_in_the_padding(x):
    """With `ceil_mode`, a window that would begin behind the tensor and the padding is left out."""
    return (
        *(functional.max_pool2d(x, 2, 2, padding, ceil_mode=True) for padding in (0, 1)),
        functional.max_pool2d(x, (3, 2), (1, 2), 1, ceil_mode=True),
        functional.max_pool2d(x, (5, 4), (4, 3), 2, ceil_mode=True),
        functional.max_pool2d(x, 1, 3, ceil_mode=True),
        functional.max_pool2d(x, 1, 4, ceil_mode=True),
        functional.max_pool1d(x[0], 2, 2, 1, ceil_mode=True),
        functional.max_pool3d(x, 2, 2, 1, ceil_mode=True),
        functional.max_pool2d(x.half(), 2, 2, 1, ceil_mode=True),
    )


POOL = [
    *(
        Case(
            f"in_the_padding_of_{size}",
            windows_in_the_padding,
            lambda n, size=size: (torch.randn(2, 3, n, size),),
            wrong=None,
            symbolic=(False,),
        )
        for size in (5, 6, 7, 8)
    ),
    Case(
        "symbolic_in_the_padding",
        lambda x: functional.max_pool2d(x, 2, 2, 1, ceil_mode=True),
        lambda n: (torch.randn(2, 3, 4, 2 * n + 1),),
        wrong=None,
        symbolic=(True,),
    ),
    Case("large_windows", large_windows, image, **STATIC),
    Case("signs_of_zeros", signs_of_zeros, image, wrong=None, **STATIC),
    Case("all_infinite", lambda x: functional.max_pool2d(x * 0 - INF, 2, 1, 1), image, **STATIC),
    Case("windows", pools, image, **STATIC),
    Case("line", lambda x: functional.max_pool1d(x[0], 3, 1, 1, 2), image, **STATIC),
    Case("symbolic", lambda x: functional.max_pool2d(x, 2), image, **RAW),
]
test_pool, test_pool_stock = fix_tests("nan_pool", POOL)


def itself(x):
    return x == x, x != x, x <= x, x >= x, x < x


COMPARISON = [
    Case("differs", lambda x: (x != 0, x != x.flip(1), x.any(1), x.count_nonzero(1)), rows, **RAW),
    Case("itself", itself, rows, **RAW),
    Case("nanmean", lambda x: x.nanmean(1), lambda n: (rows(n)[0][:2],), **STATIC),
]
test_comparison, test_comparison_stock = fix_tests("nan_comparison", COMPARISON)


def sorts(x):
    values, places = x.sort(1, descending=True)
    largest, least = x.topk(3, 1), x.topk(2, 1, largest=False)
    chosen = x.median(1).values, x.kthvalue(2, 1).values, x.median()
    stable = x.sort(dim=0, stable=True)
    return values, places[0], *stable, largest[0], largest[1][:3], *least, *chosen


def order(x):
    return x[:3].argsort(dim=1, stable=True), x.half().sort(1).values.float(), x.double().sort(1)[0]


def unsigned(dtype):
    """Numbers on both sides of the largest signed one."""
    return lambda n: (torch.tensor([0, 3, -1, 7, -(2**31), -(2**63)]).to(dtype),)


def sorts_unsigned(x):
    return *x.sort(), *x.sort(descending=True), x.argsort(), x.sort(stable=True).values


ORDER = [
    Case("raw", sorts, rows, **RAW),
    Case("ep", order, rows, **STATIC),
    *(
        Case(str(dtype), sorts_unsigned, unsigned(dtype), symbolic=(False,))
        for dtype in (torch.uint32, torch.uint64)
    ),
]
test_order, test_order_stock = fix_tests("nan_order", ORDER)

test_softshrink, test_softshrink_stock = fix_tests(
    "softshrink", [Case("infinite", functional.softshrink, rows, **RAW)]
)
test_hypot, test_hypot_stock = fix_tests("missing", [Case("hypot", torch.hypot, pair, **RAW)])


@pytest.mark.parametrize("off", ["bool_arithmetic", "nan_elementwise"])
def test_two_overrides_of_one_operator_come_and_go_alone(off):
    """relax.maximum has one for bools and one for NaN; either may be off, and both come back."""
    case = Case("maximum", torch.maximum, pair)
    program = export(case, symbolic=False)
    inputs = [t.numpy() for t in case.inputs(6)]
    want = np.isnan(eager(case, 6)[0])

    def finds_nan():
        return np.array_equal(
            np.isnan(compile_module(import_program(program, True))(*inputs)[0]), want
        )

    before = _compat.get_legalization("relax.maximum")
    with tvm_kokoro_ext.disabled(off):
        assert finds_nan() is (off != "nan_elementwise")
    assert finds_nan()
    with tvm_kokoro_ext.disabled("all"):
        stock = _compat.get_legalization("relax.maximum")
        assert not _compat.same_object(stock, before)
    with tvm_kokoro_ext.disabled("bool_arithmetic", "nan_elementwise"):
        assert _compat.same_object(_compat.get_legalization("relax.maximum"), stock)


@pytest.mark.parametrize(
    ("symbolic", "sizes", "more"),
    [(False, [6], 31), (False, [6], 130), (True, [6, 9, 17, 120], 5), (True, [6, 9, 17], 31)],
    ids=["static", "static_and_long", "symbolic_and_short", "symbolic"],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_extrema_are_those_of_torch_at_every_place(dtype, symbolic, sizes, more):
    def make(size):
        n = size + more
        x = torch.randn(60, 3, n, dtype=dtype).round(decimals=1)
        for place in range(min(n, 37)):  # before, in and behind the last whole vector
            x[place, :, place] = torch.tensor([NAN, INF, -INF])
        x[37], x[38], x[39, 1, n - 1] = -INF, INF, NAN
        return (x,)

    def program(x):
        wholes = (x[:37, 1:].max(), x[:37, 1:].min(), x.max(), x[40:].amax((1, 2)), x.amin((1, 2)))
        lanes = (*torch.max(x, -1), *torch.min(x, 2), x.amax(-1, keepdim=True), x.argmin(-1))
        rows = (*torch.max(x, 0), *torch.min(x, 1), x.amin((0, 1)), x.amax(0, keepdim=True))
        zeros = x.sign().round() * 0.0  # of both signs, and all equal
        return (*lanes, *rows, *wholes, x.argmax(), zeros.argmax(0, True), zeros.argmin(2))

    exported = export(Case("program", program, make), symbolic=symbolic)
    executable = tvm.compile(import_program(exported, False), tvm.target.Target({"kind": "llvm"}))
    machine = relax.VirtualMachine(executable, tvm.cpu())
    for size in sizes:
        (x,) = make(size)
        results = machine["main"](tvm.runtime.from_dlpack(x))
        for result, wanted in zip(map(torch.from_dlpack, results), program(x), strict=True):
            torch.testing.assert_close(result, wanted, rtol=0, atol=0, equal_nan=True)
