"""Operators that stock TVM lacks: our own kernels, and restrictions of torch's decompositions."""

import functools
import math

import numpy as np
import pytest
import torch
import tvm
from frontend_cases import Case, check, compile_module, export, fix_tests, import_program
from torch.nn import functional
from tvm import relax

import tvm_kokoro_ext
from tvm_kokoro_ext import _compat

RAW = {"symbolic": (True,), "decomposed": (False,)}
EP = {"symbolic": (True,), "decomposed": (True,)}
STATIC = {"symbolic": (False,), "decomposed": (True,)}
INF = float("inf")


def rows(n):
    return (torch.randn(3, n),)


def integers(n):
    return torch.arange(3 * n).reshape(3, n) - 7, (torch.arange(3 * n).reshape(3, n) * 5) % 7 - 3


# --- special functions -------------------------------------------------------------------


def arguments(n):
    """Both sides of zero, poles, the roots of lgamma, large and infinite numbers."""
    x = torch.linspace(-7.3, 9.1, 3 * n).reshape(3, n)
    x[0, :3], x[1, :3] = torch.tensor([0.0, -0.0, -3.0]), torch.tensor([1.0, 2.0, 1e6])
    x[2, :3] = torch.tensor([INF, float("nan"), 1e-20])
    return x, x.double(), torch.linspace(-1, 1, 3 * n).reshape(3, n)


def special(x, wide, unit):
    return torch.lgamma(x), torch.digamma(x), torch.lgamma(wide), torch.digamma(wide), unit.erfinv()


SPECIAL = [
    Case("raw", special, arguments, tolerance=2e-6, **RAW),
    Case("ep", lambda x, *_: x.lgamma(), arguments, tolerance=2e-6, **EP),
]
test_special, test_special_stock = fix_tests("special", SPECIAL)

# --- scattering --------------------------------------------------------------------------


def scattered(n):
    x, source = torch.randn(4, n), torch.randn(3, n)
    source[0, 0] = float("nan")
    return x, torch.randint(0, 4, (2, n)), source, torch.arange(4 * n).reshape(4, n) - 9


def reductions(x, index, source, whole):
    names = ["sum", "prod", "mean", "amax", "amin"]
    kinds = [(x, source, name, kept) for name in names for kept in (True, False)]
    kinds += [(whole, whole[:3], name, False) for name in ("mean", "amax")]
    return tuple(
        data.scatter_reduce(0, index, values, name, include_self=kept)
        for data, values, name, kept in kinds
    )


def masked(x, index, source, whole):
    order = x.new_ones(4, 1).cumsum(0) * 10 + whole
    return x.masked_scatter(x > 0, order), whole.masked_scatter(x[:, :1] > 0, whole * 2)


SCATTER = [
    Case("reduce", reductions, scattered, **RAW),
    Case("reduce_ep", lambda x, i, s, w: x.scatter_reduce(1, i, s, "amin"), scattered, **STATIC),
    Case("masked", masked, scattered, **EP),
]
test_scatter, test_scatter_stock = fix_tests("scatter_reduce", SCATTER)


def log_sums(x):
    low = torch.where(x > 0.5, x, -INF)
    return x.logcumsumexp(0), (x * 50).logcumsumexp(1), low.logcumsumexp(1)


test_cumulative, test_cumulative_stock = fix_tests(
    "cumsum",
    [
        Case("logcumsumexp", log_sums, rows, **RAW),
        Case(
            "logcumsumexp_of_many",
            lambda x: x.logcumsumexp(1),
            lambda n: (torch.rand(n, 2**15),),
            reference64=True,
            tolerance=1e-6,
            **RAW,
        ),
    ],
)

# --- pooling -----------------------------------------------------------------------------


def images(n):
    x = torch.randn(2, 3, 6, n)
    x[0, 0, 1, 1] = float("nan")
    return (x,)


def pooled(x):
    padded = functional.max_pool2d(x, 3, 2, 1, return_indices=True)
    dilated = functional.max_pool2d(x, 2, 1, dilation=2, return_indices=True)
    return *functional.max_pool1d(x[0], 2, return_indices=True), *padded, *dilated


POOL = [
    Case("raw", pooled, images, **RAW),
    Case(
        "values", lambda x: functional.max_pool2d(x.nan_to_num(), 2), images, wrong=None, **STATIC
    ),
    # 0.25 gives a pool of one image as a call that it has not emitted.
    Case("one", lambda x: functional.max_pool2d(x[0, 0, None], 2), images, wrong=None, **RAW),
    Case("ceil", lambda x: functional.max_pool2d(x, 4, 3, 1, 1, True, True), images, **EP),
]
test_pool, test_pool_stock = fix_tests("pool_indices", POOL)


def adaptive(x):
    line = functional.adaptive_max_pool1d(x[0], 2, return_indices=True)
    plane = functional.adaptive_max_pool2d(x, (4, 5)), functional.adaptive_avg_pool2d(x, (3, 2))
    return *line, *plane, functional.adaptive_avg_pool1d(x[0], 4)


ADAPTIVE = [Case("raw", adaptive, images, **RAW), Case("ep", adaptive, images, **EP)]
test_adaptive, test_adaptive_stock = fix_tests("adaptive_maximum", ADAPTIVE)

# --- convolution, complex numbers -------------------------------------------------------

WEIGHT, BIAS = torch.randn(4, 3, 2, 2, 3), torch.randn(6)


def transposed(x):
    strided = functional.conv_transpose3d(x, WEIGHT, BIAS[:3], 2, 1, 1)
    grouped = functional.conv_transpose3d(x, WEIGHT, BIAS, (1, 2, 1), groups=2, dilation=2)
    return functional.conv_transpose3d(x, WEIGHT), strided, grouped


CONVOLUTION = [
    Case("raw", transposed, lambda n: (torch.randn(2, 4, 2, 3, n),), tolerance=1e-4, **RAW),
    Case("ep", transposed, lambda n: (torch.randn(1, 4, 2, 3, n),), tolerance=1e-4, **STATIC),
]
test_convolution, test_convolution_stock = fix_tests("conv_transpose3d", CONVOLUTION)


def complex_products(x):
    z = torch.complex(x, x.flip(1))
    results = z @ z.conj().T, z.sum(1), z.mean(0), z.sum()
    return tuple(torch.view_as_real(result) for result in results)


test_complex, test_complex_stock = fix_tests(
    "complex", [Case("raw", complex_products, rows, tolerance=1e-4, **RAW)]
)


def transforms(x):
    spectrum = torch.fft.rfft(x)
    back = torch.fft.irfft(spectrum, n=x.shape[1])
    whole = torch.fft.ifft(torch.fft.fft(x, norm="ortho"))
    return torch.view_as_real(spectrum), back, torch.view_as_real(whole), torch.fft.fft2(x).abs()


test_fft, test_fft_stock = fix_tests("fft", [Case("raw", transforms, rows, **RAW)])

# --- counting ----------------------------------------------------------------------------


def counted(n):
    names = torch.arange(2 * n) % 5
    return names, torch.randn(2 * n), torch.tensor([0, 3, 3]), torch.randn(5, 4)


def counts(names, values, starts, table):
    bag = functional.embedding_bag
    sums = bag(names, table, starts, mode="sum", per_sample_weights=values)
    bags = bag(names, table, starts), bag(names, table, starts, mode="max", padding_idx=1), sums
    bins = torch.bincount(names, minlength=3), torch.bincount(names, values)
    bins += (torch.bincount(names, minlength=names.shape[0] + 2),)
    last = bag(names, table, starts, mode="sum", padding_idx=-1)
    histograms = values.histc(4, -1, 1), values.histc(3), values[:0].histc(2)
    return *bins, *histograms, *bags, last


def modes(n):
    return ((torch.arange(3 * n) * 7 % 3).reshape(3, n).float(),)


def modes_with_nan(n):
    """Rows in which most entries are NaN, the first one is, and all are."""
    x = torch.full((3, n), float("nan"))
    x[0, -2:] = 2
    x[1, 1:] = torch.arange(1, n)
    return (x,)


COUNTING = [
    Case("raw", counts, counted, **RAW),
    Case("mode", lambda x: (*x.mode(1), *x.mode(0, keepdim=True)), modes, **EP),
    Case("mode, NaN", lambda x: x.mode(1).values, modes_with_nan, **EP),
]
test_counting, test_counting_stock = fix_tests("counting", COUNTING)

# --- small ones --------------------------------------------------------------------------


def steps(n):
    x = torch.randn(3, n)
    x[0, :4] = torch.tensor([0.0, INF, float("nan"), -0.0])
    return x, x.flip(1).contiguous()


def small(x, y):
    after = torch.nextafter(x, y), torch.nextafter(y.double(), x.double()), torch.nextafter(x, x)
    return *after, x.view(torch.int32), x.double().view(torch.int64), functional.rrelu(x, 0.1, 0.5)


def viewed(x):
    """Bytes as numbers of every size and back, beside views of the same size."""
    x, y = x.repeat(1, 8).to(torch.float16), x.repeat(1, 2)
    halves = x.view(torch.uint8), x.view(torch.float32).view(torch.int16), x.view(torch.int64)
    singles = y.view(torch.int16), y.view(torch.float64).view(torch.int8), y.view(torch.int32)
    wide = y.double().view(torch.int32), y.double().view(torch.uint8).view(torch.float64)
    return *halves, *singles, *wide, (y > 0).view(torch.uint8), (y > 0).view(torch.int16)


def dequantized(x):
    """Blocks of a GGUF file: the scale in two bytes, and 32 numbers of one."""
    scale = (x[:, :1] * 4).to(torch.float16).view(torch.uint8)
    whole = torch.arange(0, 256, 8).to(torch.uint8).expand(3, 32)
    scale, whole = torch.cat([scale, whole], 1).split([2, 32], 1)
    return scale.view(torch.float16).to(torch.float32) * whole.view(torch.int8)


SMALL = [
    Case("views", viewed, rows, tolerance=0),
    Case("blocks", dequantized, rows, tolerance=0),
    Case("raw", small, steps, tolerance=0, **RAW),
    Case("gcd", lambda x, y: (torch.gcd(x, y), x.int().gcd(y.int())), integers, **RAW),
    Case("ep", lambda x, y: (functional.rrelu(x), torch.nextafter(x, y)), steps, **EP),
]
test_small, test_small_stock = fix_tests("small_operators", SMALL)


def smaller(x):
    names = "bilinear", "bicubic"
    return tuple(
        functional.interpolate(x, size=size, mode=name, antialias=True)
        for name in names
        for size in ((3, 4), (9, 4))
    )


def to_corners(x):
    """To one pixel with aligned corners, which do not meet then, by factors, and of halves."""
    resize = functools.partial(functional.interpolate, mode="bicubic", antialias=True)
    corners = (resize(x, size=size, align_corners=True) for size in ((1, 1), (1, 4), (3, 4)))
    return *corners, resize(x, scale_factor=(0.7, 0.9)), resize(x.double(), size=(3, 3))


def with_bad_pixels(n):
    """An infinite pixel and one that is NaN, which only their neighbours may see."""
    x = torch.randn(1, 2, 7, n)
    x[0, 0, 0, 0], x[0, 1, 6, 1] = math.inf, math.nan
    return (x,)


def larger(x):
    """To more pixels, whose centres are others with aligned corners than without the filter."""
    return tuple(
        functional.interpolate(x, size=(9, 12), mode=mode, antialias=True, align_corners=corners)
        for mode in ("bilinear", "bicubic")
        for corners in (False, True)
    )


def along_one_axis(x):
    """The other axis keeps its size and its pixels, by whatever factor."""
    resize = torch.ops.aten._upsample_bilinear2d_aa
    return resize(x, (3, x.shape[3]), False), resize(x, (12, x.shape[3]), False, 1.75, 1.3)


ANTIALIAS = [
    Case("raw", smaller, lambda n: (torch.randn(1, 2, 7, n),), **RAW),
    Case("ep", smaller, lambda n: (torch.randn(1, 2, 7, n),), **STATIC),
    Case("corners", to_corners, lambda n: (torch.randn(1, 2, 7, n),), **STATIC),
    Case("bad", lambda x: smaller(x)[:2], with_bad_pixels, **RAW),
    Case("grow", larger, lambda n: (torch.randn(1, 2, 7, n),), **STATIC),
    Case("one_axis", along_one_axis, with_bad_pixels, **RAW),
]
test_antialias, test_antialias_stock = fix_tests("antialias", ANTIALIAS)


def test_numbers_are_returned_and_the_callers_program_stays_as_it_is():
    others = (2.5, True, False) if _compat.returns_constants() else ()
    case = Case("numbers", lambda x: (x + 1, x.shape[0], *others), rows)
    program = export(case, symbolic=False)
    before = str(program.graph)
    module = import_program(program, False)
    machine = relax.VirtualMachine(tvm.compile(module, "llvm"), tvm.cpu())
    result = machine["main"](tvm.runtime.tensor(case.inputs(6)[0].numpy()))
    assert int(result[1]) == 3
    assert [float(number) for number in list(result)[2:]] == [float(n) for n in others]
    assert [type(number) for number in list(result)[2:]] == [type(n) for n in others]
    assert str(program.graph) == before


@pytest.mark.parametrize("name", ["adaptive_max_pool2d", "adaptive_avg_pool2d"])
def test_static_adaptive_pooling_stays_right(name):
    def program(x):
        return getattr(functional, name)(x.nan_to_num(), (4, 2))

    check(Case("static", program, images), False, True)


def test_views_as_bool_and_texts_are_refused_by_name():
    refused = pytest.raises(tvm_kokoro_ext.UnsupportedOperatorError, match="as bool")
    with refused:
        check(Case("view", lambda x: x.view(torch.bool), rows), False, False)
    refused = pytest.raises(tvm_kokoro_ext.UnsupportedOperatorError, match="'name'")
    with refused:
        check(Case("text", lambda x: (x, "name"), rows), False, False)
    with pytest.raises(tvm_kokoro_ext.UnsupportedOperatorError, match="polygamma.*factorial"):
        check(
            Case("polygamma", lambda x: torch.polygamma(171, x), lambda n: (torch.ones(n),)),
            False,
            False,
        )


EDGES = torch.tensor([0.0, -0.0, INF, -INF, float("nan"), 1e-30, 88.0, 1e5])
PLACES = torch.cat([torch.linspace(-30, 30, 201), EDGES])
#: Functions of float32 or float64 numbers, of which PyTorch's in float64 is what is compared with.
BESSEL = {
    "i0": torch.i0,
    "i0e": torch.special.i0e,
    "i1": torch.special.i1,
    "i1e": torch.special.i1e,
    "modified_bessel_i0": torch.special.modified_bessel_i0,
    "modified_bessel_i1": torch.special.modified_bessel_i1,
    "bessel_j0": torch.special.bessel_j0,
    "bessel_j1": torch.special.bessel_j1,
    "erfcx": torch.special.erfcx,
    "zeta": lambda x: torch.special.zeta(2.5, x),
    "zeta_of_whole": lambda x: torch.special.zeta(torch.tensor(3), x.clamp(min=-100)),
    "zeta_of_both": lambda x: torch.special.zeta(x, x.flip(0).clamp(min=-100)),
    "zeta_beside_a_number": lambda x: torch.special.zeta(x, 1.5),
    "polygamma_0": lambda x: torch.polygamma(0, x.clamp(min=0.1)),
    **{
        f"polygamma_{order}": lambda x, order=order: torch.polygamma(order, x.clamp(min=-100))
        for order in (1, 2, 5)
    },
}


@pytest.mark.parametrize("decomposed", [False, True], ids=["raw", "ep"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_special_functions_keep_their_digits(dtype, decomposed):
    names = list(BESSEL)[: 4 if dtype == torch.bfloat16 else None]  # PyTorch has no others
    x = PLACES.to(dtype)
    case = Case("all", lambda x: tuple(BESSEL[name](x) for name in names), lambda n: (x,))
    limit = {torch.float32: 4e-7, torch.float64: 1e-13, torch.bfloat16: 4e-3}[dtype]
    for name, result in zip(names, imported_on(case, x, decomposed=decomposed), strict=True):
        exact = BESSEL[name](x.double()).to(dtype)
        close = torch.isclose(result, exact, rtol=limit, atol=1e-37, equal_nan=True)
        assert {(name, float(place)) for place in x[~close]} == set()


def imported_on(case, *inputs, decomposed=False):
    module = import_program(export(case, symbolic=False), decomposed)
    target = tvm.target.Target({"kind": "llvm", "opt-level": 0})
    machine = relax.VirtualMachine(tvm.compile(module, target), tvm.cpu())
    return [torch.from_dlpack(r) for r in machine["main"](*map(tvm.runtime.from_dlpack, inputs))]


@pytest.mark.parametrize("decomposed", [False, True], ids=["raw", "ep"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_frexp_is_exact(dtype, decomposed):
    info = torch.finfo(dtype)
    x = torch.cat([PLACES, torch.tensor([0.5, 1.0, -2.0])]).to(dtype)
    x = torch.cat([x, torch.tensor([info.max, info.tiny, info.tiny / 3, -info.tiny * info.eps])])
    case = Case("frexp", lambda x: tuple(torch.frexp(x)), lambda n: (x,))
    results = imported_on(case, x, decomposed=decomposed)
    for result, wanted in zip(results, torch.frexp(x), strict=True):
        torch.testing.assert_close(result, wanted, rtol=0, atol=0, equal_nan=True)


SHIFTS = torch.tensor([0, 1, 3, 7, -1, 31, 40, 63, 64, 70])


@pytest.mark.parametrize("decomposed", [False, True], ids=["raw", "ep"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_numbers_are_shifted_by_tensors(dtype, decomposed):
    x = SHIFTS.to(getattr(torch, dtype))
    case = Case("shift", lambda x: (1 << x, 100 >> x, -5 >> x, 3 << x), lambda n: (x[:n],))
    check(case, True, decomposed)


def volumes(n):
    grid = torch.rand(2, 3, 4, 5, 3, generator=torch.Generator().manual_seed(n)) * 3 - 1.5
    lost = [[float("nan"), 0, 0], [0, INF, 0], [0, 0, -INF], [1e30, 0, 0], [0, 0, 0]]
    grid[0, 0, 0] = torch.tensor(lost)
    return torch.randn(2, 3, n, 5, 4), grid


@pytest.mark.parametrize("aligned", [True, False], ids=["aligned", "apart"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_volumes_are_sampled(mode, padding, aligned):
    def sample(x, grid):
        return functional.grid_sample(x, grid, mode, padding, aligned)

    case = Case("sample", sample, volumes, tolerance=1e-4)
    for symbolic, decomposed in ((True, False), (False, True)):
        check(case, symbolic, decomposed)


def test_float64_special_functions_are_exact_to_float64():
    inputs = torch.linspace(-6.45, 12.0, 200, dtype=torch.float64)
    case = Case("exact", lambda x: (x.lgamma(), x.digamma()), lambda n: (inputs,))
    run = compile_module(import_program(export(case, symbolic=False), False))
    for mine, theirs in zip(run(inputs.numpy()), (inputs.lgamma(), inputs.digamma()), strict=True):
        np.testing.assert_allclose(mine, theirs.numpy(), rtol=1e-12, atol=1e-13)
