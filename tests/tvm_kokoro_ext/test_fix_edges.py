"""No elements, factors of zero, and dimensions that torch has specialized."""

from __future__ import annotations

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
    module_of,
    variants,
)
from torch.nn import functional

from tvm_kokoro_ext import UnsupportedOperatorError, _compat


def special(*shape):
    """NaN, both infinities and zero among numbers."""
    x = torch.randn(*shape)
    x.view(-1)[:4] = torch.tensor([math.nan, math.inf, -math.inf, 0.0])
    return x


def numbers(n):
    return (special(2, n),)


def few(n):
    return (torch.randn(2, n),)


def sums_with_zero(x):
    """Of -0: with 0 they are 0, and with -0 they are -0."""
    return x + 0.0, 0.0 + x, x + -0.0, x - 0.0, x - -0.0, 0.0 - x


ZEROS = [
    Case("times_zero", lambda x: x * 0, numbers),
    Case("zero_times", lambda x: 0.0 * x, numbers),
    Case("zero_over", lambda x: 0.0 / x, numbers),
    Case("over_zero", lambda x: (x / 0.0, x / -0.0), numbers),
    Case("alpha", lambda x: torch.add(torch.ones(1), x, alpha=0), numbers),
    Case("value", lambda x: torch.addcmul(x.abs(), x, x, value=0), numbers),
    Case("signs", lambda x: [1 / y for y in (x * 0, x * -0.0, 0 / x, -0.0 / x)], numbers),
    Case("float64", lambda x: x.double() * 0, numbers),
    Case("float64_signs", lambda x: (1 / (x.double() * -0.0), x.double() / -0.0), numbers),
    Case("float16", lambda x: x.half() * 0, numbers),
    Case("integers", lambda x: x * 0, lambda n: (torch.arange(n),), wrong=None),
    Case("others", lambda x: (x * 2, x / 2, 2 / x), numbers, wrong=None),
    Case("slope", lambda x: functional.leaky_relu(x, 0.0), numbers),
    Case("half_slope", lambda x: functional.leaky_relu(x.half(), -0.0), numbers),
    Case("elu", lambda x: functional.elu(x, 0.0), numbers, wrong=None),
    Case("half_elu", lambda x: functional.elu(x.bfloat16(), 0.0).float(), numbers, wrong=None),
    Case("plus_zero", lambda x: [1 / y for y in sums_with_zero(-x.abs() * 0)], few),
    Case("half_plus_zero", lambda x: [1 / y for y in sums_with_zero(-x.half().abs() * 0)], few),
]
test_zero_factor, test_zero_factor_stock = fix_tests("zero_factor", ZEROS)


def limits(n):
    """A row of the least and one of the greatest of each of three dtypes."""
    dtypes = torch.int8, torch.uint8, torch.int64
    ends = [(torch.iinfo(dtype).min, torch.iinfo(dtype).max) for dtype in dtypes]
    return tuple(
        torch.tensor([[low] * n, [high] * n], dtype=dtype)
        for dtype, (low, high) in zip(dtypes, ends, strict=True)
    )


def places(*given):
    return [
        place
        for x in given
        for place in (x.argmax(1), x.argmin(1), x.max(1)[1], x.min(1)[1], x[0].argmax())
    ]


LEAST = [
    Case("places", places, limits),
    Case("from_1", lambda x, y, z: [a[:, 1:].argmax(1) for a in (x, y, z)], limits),
    Case("of_all", lambda x, y, z: [a[0].argmax(0, True) for a in (x, y, z)], limits),
    Case("floats", lambda x, y, z: (x * math.inf).argmax(1), limits, wrong=None),
]
test_least_place, test_least_place_stock = fix_tests("least_place", LEAST)


def nothing(n):
    return torch.randn(0, n), torch.randn(n, 0)


EMPTY = [
    Case("mean", lambda x, y: (x.mean(0), y.mean(1, keepdim=True), x.mean()), nothing),
    Case("deviation", lambda x, y: (x.var(0), x.std(), *torch.var_mean(y, 1)), nothing),
    Case("any", lambda x, y: ((x > 0).any(0), (y > 0).any(1), (x > 0).any()), nothing),
    Case("all", lambda x, y: ((x > 0).all(0), (y > 0).all(1), (x > 0).all()), nothing),
    Case("median", lambda x, y: x.median(), nothing),
    Case("sum", lambda x, y: (x.sum(0), y.prod(1)), nothing, wrong=None),
]
test_empty, test_empty_stock = fix_tests("empty", EMPTY)

NO_ELEMENTS = [
    Case(
        "gather",
        lambda x, i: x.gather(0, i),
        lambda n: (torch.randn(3, n), torch.zeros(0, n, dtype=torch.int64)),
    ),
    Case("unbind", lambda x: [y + 1 for y in x.unbind(0)], lambda n: (torch.randn(3, 0, n),)),
    Case(
        "circular",
        lambda x: functional.pad(x, (1, 1), mode="circular"),
        lambda n: (torch.randn(0, 2, n),),
    ),
    Case("triu_indices", lambda x: x + torch.triu_indices(0, 0).sum(), lambda n: (torch.randn(n),)),
    Case("pdist", torch.pdist, lambda n: (torch.randn(1, n),)),
    Case("split", lambda x: x.split([0, 3, 0]), lambda n: (torch.randn(3, n),)),
]

NONE = torch.zeros(0, dtype=torch.int64)

FROM_NO_ELEMENTS = [
    Case(
        "index_add_at_one_place",
        lambda x, i, v: (x.index_add(0, i.int(), x[:1], alpha=2), (x + 1).index_add_(1, i, v)),
        lambda n: (torch.randn(n, 2, 3), torch.tensor(1), torch.randn(n, 1, 3)),
    ),
    Case("put", lambda x, i, v: x.put(i, v), lambda n: (torch.randn(4, n), NONE, torch.randn(0))),
    Case(
        "index_put",
        lambda x, i, v: x.index_put((i,), v, accumulate=True),
        lambda n: (torch.randn(n), NONE, torch.randn(0)),
    ),
    Case("searchsorted", lambda x, y: torch.searchsorted(y, x), lambda n: (torch.randn(n), NONE)),
    Case("cdist", torch.cdist, lambda n: (torch.randn(n, 0), torch.randn(3, 0))),
    Case("bincount", lambda x: torch.bincount(x, minlength=5), lambda n: (NONE,)),
]


@pytest.mark.parametrize(("case", "symbolic", "decomposed"), variants(FROM_NO_ELEMENTS))
def test_results_from_no_elements(case, symbolic, decomposed):
    """Kernels that loop over no elements write nothing, or do not build."""
    check(case, symbolic, decomposed)


@pytest.mark.parametrize(("case", "symbolic", "decomposed"), variants(NO_ELEMENTS))
def test_results_without_elements(case, symbolic, decomposed):
    """Whatever the operator is: such a result needs no kernel, and many kernels do not build."""
    check(case, symbolic, decomposed)


def test_results_without_elements_beside_others_add_nothing():
    """batch_norm in evaluation gives statistics of no elements, which nobody reads."""
    case = Case("norm", torch.nn.BatchNorm2d(3), lambda n: (torch.randn(2, 3, n, 4),))
    assert "R.full" not in import_program(export(case, symbolic=False), True).script()


def bools(n):
    index = torch.tensor([0, 2, 0])
    return torch.arange(n) % 2 == 0, index, torch.tensor([True, False, True])


def square(*shape):
    """A tensor that begins with NaN."""
    x = torch.randn(*shape)
    x.view(-1)[0] = math.nan
    return x


FACTORS = [(0, 0), (0, 2.0), (0.5, 0)]
OTHERS = [
    Case(
        "product_over_nothing",
        lambda x, y: (x @ y, torch.addmm(torch.ones(3, 1), x, y), torch.bmm(x[None], y[None])),
        lambda n: (torch.randn(3, 0), torch.randn(0, n)),
    ),
    Case(
        "bool_filled_with_a_number",
        lambda x, m: x.masked_fill(m, 10),
        lambda n: (torch.arange(n) % 2 == 0, torch.arange(n) % 3 == 0),
    ),
    Case(
        "last_dimension_cut_beside_a_symbolic_one",
        lambda x: torch.ops.aten.slice.Tensor(x, -1, 1),
        lambda n: (torch.randn(n, 3),),
    ),
    Case(
        "cumulative_trapezoid",
        lambda x: torch.cumulative_trapezoid(x, dx=3.0),
        lambda n: (torch.randn(n, 3),),
    ),
    Case("index_add", lambda x, i, v: x.index_add(0, i, v), bools),
    Case("put", lambda x, i, v: x.put(i, v, accumulate=True), bools),
    Case(
        "clamp_broadcasts_the_tensor",
        lambda x, low: torch.clamp_min(x, low),
        lambda n: (torch.randn(4, 1, n), torch.randn(3, n)),
    ),
    *(
        Case(
            f"{name}_{beta}_{alpha}",
            lambda x, y, f=f, beta=beta, alpha=alpha: f(x, y, y, beta=beta, alpha=alpha),
            lambda n, shape=shape: (square(*shape), torch.randn(shape)),
        )
        for name, f, shape in (
            ("addmm", torch.addmm, (3, 3)),
            ("baddbmm", torch.baddbmm, (2, 3, 3)),
        )
        for beta, alpha in FACTORS
    ),
    Case(
        "addbmm",
        lambda x, y: torch.addbmm(x, y, y, beta=0),
        lambda n: (square(3, 3), torch.randn(2, 3, 3)),
    ),
]


@pytest.mark.parametrize(("case", "symbolic", "decomposed"), variants(OTHERS))
def test_operands(case, symbolic, decomposed):
    check(case, symbolic, decomposed)


def test_a_specialized_dimension_is_a_number():
    """Dim.AUTO asks for a symbol; the view fixes it to 4, and torch records a size named 4."""
    case = Case(
        "view",
        lambda x, y: x.view(-1, 4) * y,
        lambda n: (torch.randn(n, 4), torch.randn(n, 4)),
    )
    marks = {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}
    program = torch.export.export(module_of(case), case.inputs(6), dynamic_shapes=((marks, marks),))
    module = import_program(program, True)
    for parameter in module["main"].params:
        assert _compat.shape_of(parameter)[1] == 4
    run = compile_module(module)
    for n in (6, 9):
        compare(case, run(*[t.numpy() for t in case.inputs(n)]), eager(case, n))


def places(rows, columns):
    """Of a grid, some NaN or infinite."""
    grid = torch.rand(1, rows, columns, 2) * 2.4 - 1.2
    grid[0, 0, 0, 0] = grid[0, 0, 1, 1] = math.nan
    grid[0, 1, 0], grid[0, 1, 1, 0] = math.inf, -math.inf
    return grid


def unknown_pixels(n):
    """Images of which some pixels, among them the first, are NaN or infinite."""
    x = torch.arange(24.0 * n).view(2, n, 3, 4) + 1
    x[:, :, 0, 0], x[0, 0, 2, 3], x[1, 0, 1, 2] = math.nan, math.inf, -math.inf
    return x


def as_many_as_there_are(x):
    """Symbolic numbers of elements, the first of them in order or in any."""
    half = x.topk(x.shape[1] // 2, 1)
    some = x.topk(min(x.shape[1], 5), 1, largest=False)
    rows = x.topk(x.shape[1] - 1, sorted=False).values.sort().values
    return *half, *some, rows, x.half().topk(x.shape[1] // 3).values, x.topk(x.shape[0], 0)[0]


TOPK = [
    *(
        Case(
            f"topk_{name}",
            lambda x, largest=largest: torch.topk(x, 2, 1, largest, False).values.sum(1),
            lambda n: (torch.randn(n, 5),),
        )
        for name, largest in (("largest", True), ("smallest", False))
    ),
    Case(
        "topk_symbolic", as_many_as_there_are, lambda n: (torch.randn(3, n + 4),), symbolic=(True,)
    ),
]
test_topk, test_topk_stock = fix_tests("topk", TOPK)


def norms_of_one_number(x):
    """The magnitude, although its square is infinite or 0."""
    norm = torch.linalg.vector_norm
    powers = torch.cat([x * 1e30, x * 1e-30, x * 0 - math.inf, x * math.nan])
    far = *(norm(powers, order, 1) for order in (2, 3, -2, 0.5)), norm(powers[:1], keepdim=True)
    scalar = x[0, 0]  # of which, along axis 0, PyTorch takes the square
    whole = norm(scalar, dim=0), norm(scalar, dim=[]), norm(powers[:1], dim=[]).log()
    return *(y.log() for y in far), norm(powers[:, :, None], 2, (1, 2)), *whole


UNREAD = [  # arguments and sizes that stock's converters do not read
    Case(
        "isin_inverted",
        lambda x: torch.isin(x, torch.tensor([1, 2]), invert=True),
        lambda n: (torch.randint(0, 5, (n, 2)),),
        decomposed=(False,),
    ),
    Case(
        "norm_in_float64",
        lambda x: torch.linalg.vector_norm(x, dtype=torch.float64),
        lambda n: (torch.randn(n, 4),),
        tolerance=1e-12,
    ),
    Case(
        "norm_of_rows_in_float64",
        lambda x: torch.linalg.vector_norm(x, 3, dim=1, dtype=torch.float64),
        lambda n: (torch.randn(n, 4),),
        tolerance=1e-12,
    ),
    Case("norm_of_one_number", norms_of_one_number, lambda n: (torch.randn(n, 1),)),
    Case(
        "layer_norm_of_nothing",
        lambda x: functional.layer_norm(x, (0,)),
        lambda n: (torch.randn(n, 0),),
    ),
    *(
        Case(
            f"affine_grid_of_one_row_{aligned}",
            lambda t, aligned=aligned: functional.affine_grid(t, (2, 3, 1, 5), aligned),
            lambda n: (torch.randn(2, 2, 3),),
            symbolic=(False,),
        )
        for aligned in (True, False)
    ),
    *(
        Case(
            f"affine_grid_of_a_volume_{aligned}",
            lambda t, x, aligned=aligned: functional.affine_grid(t, x.shape, aligned),
            lambda n: (torch.randn(2, 3, 4), torch.randn(2, 1, n, 1, 5)),
            symbolic=(False,),
        )
        for aligned in (True, False)
    ),
    *(
        Case(
            f"grid_sample_{mode}_{padding}_{aligned}",
            lambda x, g, how=(mode, padding, aligned): functional.grid_sample(x, g, *how),
            lambda n: (torch.arange(12.0 * n).view(1, n, 3, 4) + 1, places(5, 4)),
            tolerance=1e-4,
        )
        for mode, padding, aligned in (
            ("bilinear", "zeros", True),
            ("bilinear", "border", False),
            ("bilinear", "reflection", True),
            ("nearest", "border", True),
            ("nearest", "reflection", False),
        )
    ),
    *(
        Case(
            f"grid_sample_of_unknown_pixels_{mode}_{padding}",
            lambda x, g, how=(mode, padding, False): functional.grid_sample(x, g, *how),
            lambda n: (unknown_pixels(n), torch.rand(2, 5, 4, 2) * 2.6 - 1.3),
            tolerance=1e-4,
        )
        for mode, padding in (("bilinear", "zeros"), ("nearest", "zeros"), ("bilinear", "border"))
    ),
]
test_unread, test_unread_stock = fix_tests("decompose", UNREAD)


REFUSED = [
    Case("a tensor without dimensions", torch.nonzero, lambda n: (torch.tensor(1.0),)),
    Case(
        "pixels",
        lambda x: functional.interpolate(x, scale_factor=1.5, mode="bilinear"),
        lambda n: (torch.zeros(1, 1, 4, n).to(torch.uint8),),
    ),
    Case(
        "cubic_pixels",
        lambda x: functional.interpolate(x, scale_factor=1.5, mode="bicubic"),
        lambda n: (torch.zeros(1, 1, 4, n).to(torch.uint8),),
    ),
    Case(
        "operator_eigh",
        lambda x: torch.linalg.eigh(x @ x.mT)[1],
        lambda n: (torch.randn(n, 3, 3),),
        symbolic=(False,),
    ),
    Case(
        "momentum",
        lambda x: functional.batch_norm(
            x, torch.zeros(4), torch.ones(4), momentum=-1.0, training=True
        ),
        lambda n: (torch.randn(2, 4, n),),
    ),
]


@pytest.mark.parametrize(("case", "symbolic", "decomposed"), variants(REFUSED))
def test_what_cannot_be_right_is_refused(case, symbolic, decomposed):
    program = export(case, symbolic)
    with pytest.raises(UnsupportedOperatorError, match=case.name.rpartition("_")[2]):
        import_program(program, decomposed)
