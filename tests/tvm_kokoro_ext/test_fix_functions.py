"""Operators that stock lacks or gives another dtype: reductions, statistics, division, powers."""

import math

import pytest
import torch
from frontend_cases import (
    Case,
    check,
    compare,
    compile_module,
    eager,
    export,
    fix_tests,
    import_program,
)

from tvm_kokoro_ext._compat import relax

STATIC = {"symbolic": (False,)}
EP = {"decomposed": (True,)}
RAW = {"decomposed": (False,)}


def rows(n):
    return (torch.randn(3, n),)


def ints(n):
    return torch.arange(3 * n).reshape(3, n) - 5, torch.arange(n) % 4 + 1


def bools(n):
    return (torch.randn(3, n) > 0,)


def with_nan(n):
    return (torch.tensor([[1.0, -2.0], [float("nan"), 5.0], [-3.0, -2.0]]),)


def tenths(n):
    """Multiples of 0.1 as float32 has them: near every quotient by 0.1 lies a whole number."""
    return ((torch.arange(3 * n).reshape(3, n) - 9).float() * 0.1,)


def every(x):
    return torch.ops.aten._is_all_true(x), torch.ops.aten._is_any_true(x)


REDUCTIONS = [
    Case("no_axes", lambda x: (torch.any(x, dim=[]), torch.all(x > 0, dim=[])), rows),
    Case("kept_axes", lambda x: (torch.any(x, None, True), (x > 0).all(None, True)), rows, **RAW),
    Case("mean_of_no_axes", lambda x: (x.mean([]), x.mean(dim=[], keepdim=True)), rows),
    Case("norm_of_no_axes", lambda x: torch.linalg.vector_norm(x, 3, dim=[]), rows),
    Case("amax", lambda x: x.amax(1), rows, **EP),
    Case("amin_keep", lambda x: x.amin(-1, keepdim=True), rows, **RAW),
    Case("min_dim", lambda x: x.min(1), rows),
    Case("any_int", lambda x, y: x.any(1), ints, **EP),
    Case("all_int", lambda x, y: x.all(1), ints, **RAW),
    Case("any_all", lambda x: x.any(), bools, **EP),
    Case("all_true", every, bools),
    Case("prod_dim", lambda x: x.prod(1), rows, **EP),
]
test_reductions, test_reductions_stock = fix_tests("reductions", REDUCTIONS)

STD = [
    Case("no_axes", lambda x: (x.var(dim=[]), x.std(dim=[], keepdim=True)), rows),
    Case("std_symbolic", lambda x: x.std(1), rows, symbolic=(True,)),
    Case("std_raw", lambda x: x.std(), rows, **RAW, **STATIC),
    Case("var_mean", lambda x: torch.var_mean(x, 1, correction=0), rows, **EP),
    Case("var_keep", lambda x: x.var(0, keepdim=True), rows, wrong=None, **STATIC, **EP),
    Case("large_correction", lambda x: (x.var(0, correction=20), x.std(correction=99)), rows),
]
test_std, test_std_stock = fix_tests("std", STD)

INDEX = [
    Case("sort", lambda x: torch.sort(x, 1), rows, wrong="<0.26", **EP, **STATIC),
    Case(
        "mean",
        lambda x, y: x.mean(1, dtype=torch.float32),
        ints,
        wrong="<0.26",
        **RAW,
        **STATIC,
    ),
]


@pytest.mark.parametrize("case", INDEX, ids=lambda case: case.name)
def test_dtype_of_indices_and_means(case):
    """int64 indices and the dtype asked for, on every version; 0.25 needs the fix for it."""
    for symbolic, decomposed in case.variants():
        check(case, symbolic, decomposed)


def four_sizes(n):
    return (torch.randn(n - 4, n - 3, n - 2, n),)


CUMSUM = [
    Case("bool", lambda x: x.cumsum(1), bools, **EP),
    Case("int32", lambda x, y: x.int().cumsum(0), ints, **RAW),
    Case("float", lambda x: x.cumsum(1), rows, wrong=None, **STATIC, **EP),
    # The build of stock takes minutes.
    Case("four_sizes", lambda x: (x.cumsum(0), x.cumsum(-3)), four_sizes, wrong=None),
    Case("product", lambda x: (x.cumprod(2), x.half().cumsum(-1)), four_sizes, wrong=None),
    Case("integers", lambda x: (x > 0).cumsum(1), four_sizes, wrong=None),
    Case("cummax", lambda x: torch.cummax(x, 1), rows, **EP),
    Case("cummin_first", lambda x: torch.cummin(x, 0), rows, **RAW),
    Case("cummax_ties", lambda x, y: torch.cummax(x % 3, 1), ints, **EP, **STATIC),
    Case("cummin_nan", lambda x: torch.cummin(x, 0), with_nan, **EP, **STATIC),
]
test_cumsum, test_cumsum_stock = fix_tests("cumsum", CUMSUM)


def few(n):
    return torch.arange(n) - 3, torch.tensor([1, 7, 8, 31, 63, 65, 300, 2**40 + 1, -3])[:n]


def large_powers(x, y):
    """Exponents beyond the width; powers wrap around. Bools are raised in int64."""
    narrow = [x.to(dtype) for dtype in (torch.int8, torch.uint8, torch.int32)]
    fixed = [base**300 for base in (x, narrow[2], x > 0)] + [base**65 for base in narrow]
    return *fixed, x**y, narrow[2] ** y, narrow[0] ** True, (-3) ** y, torch.pow(x > 0, y)


def long_shifts(x, y):
    """Shifts by less than 0, or by the width and more, leave the sign or nothing."""
    narrow = [(x.to(dtype), y.to(dtype)) for dtype in (torch.int8, torch.uint8, torch.int32)]
    by_tensor = [shifted for a, b in (*narrow, (x, y)) for shifted in (a << b, a >> b)]
    return *by_tensor, x << 300, x >> 300, x << -3, x >> -3


def smallest_by_minus_one(divisor, *smallest):
    """Quotients that overflow, and wrap; stock ends the process here."""
    results = [torch.div(smallest[0], divisor.to(torch.int8), rounding_mode="trunc")]
    for a in smallest:
        b, ones = divisor.to(a.dtype), torch.tensor([-1, 3, -1, 1, 2, -1], dtype=a.dtype)
        results += [a // b, a % b, torch.fmod(a, b), a // -1, a % -1, torch.fmod(a, -1)]
        results += [a[:, :1] // ones, a[:, :1] % ones]
    return results


def minus_ones(n):
    dtypes = torch.int8, torch.int16, torch.int32, torch.int64
    smallest = [torch.full((2, n), torch.iinfo(dtype).min, dtype=dtype) for dtype in dtypes]
    return torch.where(torch.arange(n) % 2 > 0, -1, 3), *smallest


test_overflow, _ = fix_tests(
    "integer_overflow", [Case("smallest", smallest_by_minus_one, minus_ones, wrong=None)]
)

QUOTIENTS = {
    "floor": lambda x, y: x // y,
    "rest": lambda x, y: x % y,
    "fmod": torch.fmod,
    "trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "number": lambda x, y: 7 // y + 7 % y,
    "narrow": lambda x, y: x.to(torch.int8) // y.to(torch.uint8),
    "in_place": lambda x, y: x.clone().floor_divide_(y),
}


@pytest.mark.parametrize("decomposed", [False, True], ids=["raw", "ep"])
@pytest.mark.parametrize("function", [pytest.param(f, id=name) for name, f in QUOTIENTS.items()])
def test_an_integer_divided_by_zero_raises(function, decomposed):
    """Without the check the process ends with SIGFPE."""
    case = Case("quotient", function, lambda n: (torch.arange(n) - 3, torch.arange(n) % 5 + 1))
    run = compile_module(import_program(export(case, symbolic=True), decomposed))
    x, y = case.inputs(9)
    compare(case, run(x.numpy(), y.numpy()), eager(case, 9))
    y[4] = 0
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        function(x, y)
    with pytest.raises(Exception, match="mismatch"):
        run(x.numpy(), y.numpy())


def test_one_kernel_counts_the_zeros_of_a_divisor():
    """Three of them take half as long as the division."""
    case = Case("floor", QUOTIENTS["floor"], lambda n: (torch.arange(n), torch.arange(n) + 1))
    module = relax.transform.LegalizeOps()(import_program(export(case, symbolic=True), False))
    kernels = {variable.name_hint for variable, _ in module.functions_items()} - {"main"}
    assert kernels - {"reshape"} == {"failures", "floordiv"}


def by_powers_of_two(x):
    """Quotients, remainders and the signs of those that are zero."""
    rests = x % 1, x % 2.0, x % -4
    return (
        x // 2,
        torch.div(x, -4.0, rounding_mode="floor"),
        x // 1.0,
        rests,
        [1 / r for r in rests],
    )


def special_rows(n):
    special = [math.inf, -math.inf, math.nan, 0.0, -0.0, -4.0, 3e38, -1e-45, -2.5]
    return (torch.cat([torch.tensor(special).expand(n, -1), torch.randn(n, 7)], 1),)


DIVISION = [
    Case("floor", lambda x, y: torch.div(x, 3, rounding_mode="floor"), ints, **EP),
    Case("trunc", lambda x, y: torch.div(x, 3, rounding_mode="trunc"), ints, **EP),
    Case("none", lambda x, y: torch.div(x, y, rounding_mode=None), ints, **RAW),
    Case("floor_divide", lambda x, y: x // 3, ints),
    Case("number_floor_divide", lambda x, y: 7 // y, ints, **EP),
    Case("number_remainder", lambda x, y: 7 % y, ints, **RAW),
    Case("int_pow_int", lambda x, y: x**y, ints, **EP),
    Case("large_powers", large_powers, few, **EP),
    Case("long_shifts", long_shifts, few, **STATIC),
    Case("number_pow_int", lambda x, y: 2**y, ints, **STATIC),
    Case("shift", lambda x, y: (x << 2) >> 1, ints, **EP),
    Case("negative_mod", lambda x, y: x % 3, ints, wrong=None, **STATIC, **EP),
    Case("float_remainder", lambda x: x % 0.1, tenths, tolerance=1e-7, **EP),
    Case("float_remainder_negative", lambda x: x % -0.1, tenths, tolerance=1e-7, **STATIC, **RAW),
    Case("float_floor_divide", lambda x: x // 0.1, tenths, **RAW),
    Case("float_floor_mode", lambda x: torch.div(x, 0.1, rounding_mode="floor"), tenths, **EP),
    Case(
        "float_fmod",
        lambda x: torch.fmod(x * 1e7, 0.3),
        tenths,
        tolerance=1e-7,
        wrong=None,
        **STATIC,
        **EP,
    ),
    Case(
        "float_remainder_tensor",
        lambda x: x % torch.full_like(x, 0.1),
        tenths,
        tolerance=1e-7,
        **STATIC,
        **EP,
    ),
    Case("float64_remainder", lambda x: x.double() % 0.1, tenths, tolerance=1e-15, **STATIC, **EP),
    Case("whole_remainder", lambda x: (x % 1, x // 0.5), tenths, wrong=None, **STATIC, **EP),
    Case("powers_of_two", by_powers_of_two, special_rows),
]
test_division, test_division_stock = fix_tests("division", DIVISION)

UNARY = [
    Case("reciprocal", lambda x, y: 2 / y, ints, **EP),
    Case("exp", lambda x, y: y.exp(), ints, **RAW),
    Case("sigmoid", lambda x, y: x.sigmoid(), ints, **STATIC),
    Case("isfinite", lambda x, y: x.isfinite(), ints, wrong=None, **STATIC),
]
test_unary, test_unary_stock = fix_tests("unary", UNARY)

WHERE = [
    Case("cat_empty", lambda x: torch.cat([x.new_zeros(0), x, x.int()[0, :0]], 1), rows),
    Case("promote", lambda x, y: torch.where(x > 0, x, y / 2), ints),
    Case("scalar", lambda x, y: torch.where(x > 0, x, 0.5), ints, **RAW),
    Case("cat", lambda x: torch.cat([x, x.int()]), rows, **EP),
    Case("stack", lambda x: torch.stack([x.int(), x, x.half()], -1), rows),
    Case("same", lambda x: torch.where(x > 0, x, -x), rows, wrong=None, **STATIC, **EP),
]
test_where, test_where_stock = fix_tests("where", WHERE)

BOOL = [
    Case("add", lambda x: x + x, bools, **EP),
    Case("mul", lambda x: x * ~x, bools, **STATIC),
]
test_bool, test_bool_stock = fix_tests("bool_arithmetic", BOOL)

CREATION = [
    Case("zeros_like", lambda x: torch.zeros_like(x, dtype=torch.int64), rows, **RAW),
    Case(
        "empty",
        lambda x: torch.empty(x.shape[1]).fill_(2.0) + x,
        rows,
        symbolic=(True,),
        **RAW,
    ),
    Case("full", lambda x: torch.full((2,), 3) + x.long()[:2, 0], rows, wrong=None, **RAW),
    Case("new_zeros", lambda x: x.new_zeros(3, dtype=torch.int64), rows, **RAW, **STATIC),
]
test_creation, test_creation_stock = fix_tests("creation", CREATION)

ELU = [Case("selu", torch.nn.functional.selu, rows, **EP, **STATIC)]
test_elu, test_elu_stock = fix_tests("elu", ELU)

MISSING = [
    Case("hypot", lambda x: torch.hypot(x, x + 1), rows, **EP),
    Case("erfc", torch.erfc, rows, **EP, **STATIC),
    Case("fmax", lambda x: torch.fmax(x, x.flip(0)), with_nan, **EP, **STATIC),
    Case("fmin_int", lambda x, y: torch.fmin(x, y), ints, **RAW, **STATIC),
    Case("exp2", torch.exp2, rows, **EP, **STATIC),
    Case("signbit", torch.signbit, lambda n: (torch.tensor([0.0, -0.0, 2.0, -3.0]),), **EP),
    Case(
        "scatter_add",
        lambda x, i: x.scatter_add(1, i, x),
        lambda n: (*rows(n), torch.randint(0, 5, (3, n))),
        **EP,
    ),
    Case(
        "repeat_interleave",
        lambda x, r: x.repeat_interleave(r, 1, output_size=12),
        lambda n: (torch.randn(3, 6), torch.tensor([1, 2, 3, 0, 4, 2])),
    ),
    Case(
        "repeat_interleave_as_the_data_say",
        lambda x, r: (x.repeat_interleave(r, 0) + 1, torch.repeat_interleave(r)),
        lambda n: (torch.randn(n, 3), torch.randint(0, 4, (n,))),
    ),
    Case(
        "searchsorted", lambda x: torch.searchsorted(torch.tensor([-1.0, 0.0, 1.0]), x), rows, **EP
    ),
    Case(
        "windows",
        lambda x: (
            torch.bartlett_window(7),
            torch.blackman_window(x.shape[1], periodic=False),
            torch.blackman_window(x.shape[1] // 6),
            torch.bartlett_window(1),
            torch.kaiser_window(x.shape[1]),
            torch.kaiser_window(8, periodic=False, beta=5.0, dtype=torch.float64) + x[0, 0],
        ),
        rows,
        symbolic=(False,),
    ),
    Case(
        "bits_of_a_number",
        lambda x: (torch.bitwise_and(6, x), torch.bitwise_or(5, x), torch.bitwise_xor(3, x)),
        lambda n: (torch.arange(n, dtype=torch.uint8),),
    ),
    Case(
        "searchsorted_of_a_number",
        lambda x: (
            torch.searchsorted(x[0].sort().values, 0.25, right=True),
            torch.searchsorted(torch.tensor([1, 2, 3]), 2, out_int32=True),
            torch.searchsorted(torch.tensor([1, 2, 3]), 2.5),
            torch.bucketize(0.5, x[1].sort().values) + x[0, 0].long(),
        ),
        rows,
    ),
    Case("copysign", lambda x: torch.copysign(x, x.flip(1)), rows, **EP, **STATIC),
    Case(
        "bilinear",
        torch.nn.functional.bilinear,
        lambda n: (torch.randn(n, 4), torch.randn(n, 3), torch.randn(5, 4, 3), torch.randn(5)),
    ),
    Case("diagonal_scatter", lambda x: torch.diagonal_scatter(x, x[:2, 0], -1), rows, **EP),
    Case("cdist", lambda x: torch.cdist(x, x[:2]), rows, tolerance=1e-4, **EP),
    Case(
        "cdist_of_batches",
        lambda x: (torch.cdist(x[None].expand(2, -1, -1), x[None, :2]), torch.cdist(x[None], x)),
        rows,
        tolerance=1e-4,
        **EP,
    ),
]
test_missing, test_missing_stock = fix_tests("missing", MISSING)

KTHVALUE = [
    Case("kthvalue", lambda x: torch.kthvalue(x, 2, 1), rows, **EP),
    Case("kthvalue_keep", lambda x: torch.kthvalue(x, 3, 0, keepdim=True), rows, **RAW, **STATIC),
]
test_kthvalue, test_kthvalue_stock = fix_tests("kthvalue", KTHVALUE)

MASK = [
    Case("elements", lambda x: x[x > 0], lambda n: (torch.randn(3, 6),)),
    Case(
        "rows",
        lambda x, m: x[m],
        lambda n: (*rows(n), torch.tensor([True, False, True])),
    ),
    Case("nonzero", lambda x: (x > 0).nonzero(), lambda n: (torch.randn(3, 6),), **EP),
]
test_mask_read, test_mask_read_stock = fix_tests("mask_read", MASK)

EXPAND = [
    Case("leading", lambda x: x.expand(2, -1, -1), rows),
    Case("one", lambda x: x[:, :1].expand(-1, 5), rows, wrong=None, **STATIC),
]
test_expand, test_expand_stock = fix_tests("expand", EXPAND)

ATAN2 = [
    Case("quadrants", lambda x: torch.atan2(x, x.flip(1)), rows),
    Case(
        "cut",
        lambda y, x: torch.atan2(y, x),
        lambda n: (torch.tensor([0.0, -0.0, 0.0, -0.0]), torch.tensor([-1.0, -1.0, 1.0, 0.0])),
    ),
]
test_atan2, test_atan2_stock = fix_tests("atan2", ATAN2)

NEVER = [
    Case("leaky_relu", lambda x: torch.nn.functional.leaky_relu(x, 0.2), rows, wrong=None),
    Case("cat", lambda x: torch.cat([x, x], 1), rows, wrong=None),
]
test_never_needed, _ = fix_tests("leaky_relu", NEVER)


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_floors_and_remainders_have_the_bits_of_torch(dtype, symbolic):
    """Beside whole quotients, with signs, and where a few quotients of a row are long."""
    torch.manual_seed(0)
    divisors = torch.randn(4, 999, dtype=dtype) * 10.0 ** torch.randint(-3, 3, (4, 999))
    wholes = torch.randint(-3000, 3000, (4, 999)).to(dtype) * divisors
    dividends = wholes * (1 + torch.finfo(dtype).eps * torch.tensor([[0], [1], [-1], [0]]))
    special = torch.tensor([0.0, -0.0, 1, -1, 0.1, -7, 4096, 5000, 1e9, math.inf, -math.inf])
    a, b = torch.meshgrid(torch.cat([special, special[:1] * math.inf]), special, indexing="ij")
    for row in (1, 3):
        dividends[row, : a.numel()], divisors[row, : b.numel()] = a.flatten(), b.flatten()

    def both(x, y):
        return torch.remainder(x, y), x // y, torch.remainder(x, 0.3), x // -0.3

    def make(size):
        return dividends[:, :size].contiguous(), divisors[:, :size].contiguous()

    inputs = (dividends, divisors)
    program = export(Case("both", both, make if symbolic else lambda _: inputs), symbolic)
    run = compile_module(import_program(program, False))
    whole = torch.int32 if dtype == torch.float32 else torch.int64
    for found, wanted in zip(run(*(t.numpy() for t in inputs)), both(*inputs), strict=True):
        got = torch.from_numpy(found)
        numbers = ~torch.isnan(wanted)
        assert torch.equal(numbers, ~torch.isnan(got))
        assert torch.equal(got.view(whole)[numbers], wanted.view(whole)[numbers])


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize("bits", [13, 21, 22, 27, 28])
def test_medium_quotients_have_the_bits_of_torch(bits, symbolic):
    """Around the limits to which float32 is divided in float64, without longer ones beside them."""
    torch.manual_seed(0)
    divisors = torch.randn(3, 999) * 10.0 ** torch.randint(-3, 3, (3, 999))
    wholes = torch.randint(-(2**bits), 2**bits, (3, 999)).double() * divisors
    near = 1 + torch.finfo(torch.float32).eps * torch.tensor([[0], [1], [-1]])
    dividends = (wholes * near).float()
    dividends[:, 0], dividends[:, 1] = 0.0, -0.0

    def both(x, y):
        return torch.remainder(x, y), x // y

    def make(size):
        return dividends[:, :size].contiguous(), divisors[:, :size].contiguous()

    inputs = (dividends, divisors)
    program = export(Case("both", both, make if symbolic else lambda _: inputs), symbolic)
    run = compile_module(import_program(program, False))
    for found, wanted in zip(run(*(t.numpy() for t in inputs)), both(*inputs), strict=True):
        assert torch.equal(torch.from_numpy(found).view(torch.int32), wanted.view(torch.int32))
