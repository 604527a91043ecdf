"""Complex numbers, FFTs, windows, and the LSTM as a loop."""

import numpy as np
import pytest
import torch
from frontend_cases import Case, compile_module, export, fix_tests, import_program
from torch.nn import functional
from tvm import relax

from tvm_kokoro_ext import UnsupportedOperatorError, _compat

EP = {"decomposed": (True,)}
INF = float("inf")


def rows(n):
    return (torch.randn(3, n),)


def spectrum(x):
    window = torch.hann_window(8)
    return torch.stft(x, 8, 4, 8, window=window, return_complex=True)


def pairs(x):
    return torch.complex(x, x * 2 - 1)


def parts(*tensors):
    return tuple(map(torch.view_as_real, tensors))


def rearranged(x):
    z, places = pairs(x), torch.tensor([0, 2])
    return parts(
        *z.split([1, 2], 0),
        z.chunk(2, 1)[0],
        z.index_select(1, places),
        z.repeat(2, 1),
        z.gather(1, places[None].expand(3, -1)),
        z[:, :3].diagonal(),
        z.roll(1, 0),
        torch.nn.functional.embedding(places, z),
    )


def written(x):
    z, made = pairs(x), torch.zeros(3, x.shape[1], dtype=torch.complex64)
    made[:, 1:3] = z[:, 1:3]
    made[0] = z[1]
    made[:, [0, 4]] = 1j
    made[1, 3:5] = x[1, 3:5]
    return torch.view_as_real(made)


def filled(x):
    z = pairs(x)
    return parts(
        z + torch.ones(x.shape[1], dtype=torch.complex64),
        z * torch.full((3, 1), 1 + 2j),
        torch.full_like(z, 2j) - z,
        torch.where(x > 0, z, 0),
        torch.where(x > 0, 1j, z),
        z.masked_fill(x > 0, 2),
    )


def scaled(x):
    z, wide = pairs(x), pairs(x.double())
    return parts(
        torch.add(z, z.conj(), alpha=3),
        torch.sub(z, z.conj(), alpha=2j),
        torch.add(z, x, alpha=2),
        wide * 2j + 0.1,
        wide / 3,
        1 - wide,
        z.square(),
        z**2,
        1 / z,
        wide.reciprocal(),
    )


def without_dimensions(x):
    """Sums to a dtype, and beside a number, which torch keeps as a tensor of its own."""
    z = pairs(x)[0, 0]
    beside = torch.where(x[0, 0] > 0, z, torch.tensor(2j))
    return parts(z.sum(0, dtype=torch.complex64), z.cumsum(0, dtype=torch.complex64), beside)


def without_elements(x):
    """Several results of one operator."""
    z = pairs(x)[:, :0]
    return parts(*z.unbind(0), *torch.unbind_copy(z), *z.split(2))


class HoldsComplex(torch.nn.Module):
    """A module whose parameter, buffers and plain tensor are complex."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(0)

        def drawn(*shape):
            return torch.complex(*torch.randn(2, *shape, generator=generator))

        self.weight, self.bias = torch.nn.Parameter(drawn(4, 3)), torch.nn.Parameter(drawn(4))
        self.register_buffer("turns", drawn(12, 4))
        self.register_buffer("unsaved", drawn(4), persistent=False)
        self.plain = drawn(4).conj()

    def forward(self, x):
        z = torch.nn.functional.linear(pairs(x.T), self.weight, self.bias)
        z = z * self.turns[: x.shape[1]].to(torch.complex64) + self.unsaved.conj()
        return torch.view_as_real(z - self.plain)


COMPLEX = [
    Case("rearranged", rearranged, rows, **EP),
    Case("written", written, rows, **EP),
    Case("filled", filled, rows, **EP),
    Case("scaled", scaled, rows, tolerance=1e-4, **EP),
    Case("without_dimensions", without_dimensions, rows, symbolic=(False,)),
    Case("without_elements", without_elements, rows, symbolic=(False,)),
    Case("held", HoldsComplex(), rows, tolerance=1e-4, **EP),
    Case("magnitude", lambda x: torch.complex(x, x * 2).abs(), rows, **EP),
    Case("magnitude_small", lambda x: torch.complex(x * 3e-30, x * 4e-30).abs() * 1e30, rows, **EP),
    Case("magnitude_large", lambda x: torch.complex(x * 3e30, x * 4e30).abs() / 1e30, rows, **EP),
    Case("magnitude_infinite", lambda x: torch.complex(x / 0, x * INF * 0).abs(), rows, **EP),
    Case(
        "quotient",
        lambda x: torch.stack(
            [
                torch.view_as_real(torch.complex(x, x + 1) / (torch.complex(x - 2, x) * scale))
                * scale
                for scale in (1e-30, 1.0, 1e30)
            ]
        ),
        rows,
        **EP,
    ),
    Case(
        "quotient_of_zero_and_infinity",
        lambda x: torch.view_as_real(
            torch.complex(x.abs() + 1, x.abs() + 2)
            / torch.complex(torch.where(x > 0, INF, 0.0), 0 * x)
        ),
        rows,
        **EP,
    ),
    Case(
        "expanded",
        lambda x: torch.view_as_real(torch.complex(x, -x)[:, None].expand(-1, 2, -1)),
        rows,
        **EP,
    ),
    Case(
        "einsum",
        lambda x: torch.view_as_real(
            torch.einsum("bij,bkj->bik", torch.complex(x, -x)[None], torch.complex(x, x * 2)[None])
        ),
        rows,
        tolerance=1e-4,
        **EP,
    ),
    Case("angle", lambda x: torch.angle(torch.complex(x, x.abs() - 1)), rows, **EP),
    Case("angle_real", torch.angle, rows, **EP),
    Case("exp", lambda x: torch.view_as_real(torch.exp(1j * x)), rows),
    Case(
        "product",
        lambda x: torch.view_as_real(torch.complex(x, x)[:, 1:] * torch.complex(x, -x)[:, :-1]),
        rows,
        **EP,
    ),
]
test_complex, test_complex_stock = fix_tests("complex", COMPLEX)


def two(n):
    return torch.randn(3, n, 2) * 2, torch.randn(3, n, 2) + 0.3


def cuts(n):
    """Numbers on the real and the imaginary axis and beside, with zeros of both signs."""
    axis = torch.tensor([0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0])
    return (torch.cartesian_prod(axis, axis),) * 2


def beside_poles(n):
    poles = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    return (poles[:, None] + torch.randn(4, 50, 2) * 0.002,) * 2


def of_complex(*functions):
    """A program that gives the results of functions of two complex tensors as real ones."""

    def program(x, y):
        results = [f(torch.view_as_complex(x), torch.view_as_complex(y)) for f in functions]
        flat = torch.utils._pytree.tree_leaves(results)
        return [torch.view_as_real(v.resolve_conj()) if v.is_complex() else v for v in flat]

    return program


def each(names):
    return of_complex(*(lambda z, _, name=name: getattr(torch, name)(z) for name in names.split()))


RAW = {"decomposed": (False,)}
ALONG = {"tolerance": 1e-4, "symbolic": (False,), **RAW}
FUNCTIONS = [
    Case("logarithms", each("log log2 log10 log1p expm1 exp2"), two, tolerance=1e-4, **EP),
    Case("roots", each("sqrt rsqrt square sgn sigmoid sinc"), two, tolerance=1e-4, **RAW),
    Case("circular", each("sin cos tan asin acos atan"), two, tolerance=1e-4, **EP),
    Case("hyperbolic", each("sinh cosh tanh asinh acosh atanh"), two, tolerance=1e-4, **RAW),
    Case("cuts", each("log log2 log10 log1p sqrt asin acos atan asinh acosh atanh"), cuts, **ALONG),
    Case("beside_poles", each("log1p atan atanh"), beside_poles, **ALONG),
    Case("parts", of_complex(lambda z, w: (z.conj().imag + w.real, z.conj().real)), two),
    Case(
        "flattened",
        of_complex(lambda z, w: (z.flatten(), z.tile(2), (z * w).unflatten(0, (3, 1)))),
        two,
        **RAW,
    ),
    Case("places", of_complex(lambda z, w: (z * (w.real > 0)).nonzero()), two, **ALONG),
    Case("tests", each("isnan isinf isfinite logical_not count_nonzero any all"), two, **EP),
    Case(
        "powers",
        of_complex(
            *(lambda z, w, p=p: z**p for p in (3, -2, 0.5, -0.5, 2.5, 1 + 2j)),
            lambda z, w: (z**w, 2**z, w.real**z, z**w.real, (0 * z) ** 0, (0 * z) ** 2.5),
            lambda z, w: ((0 * z) ** -3.5).real,
        ),
        two,
        tolerance=1e-3,
        **RAW,
    ),
    Case(
        "extremes",
        of_complex(
            lambda z, w: (torch.tanh(z * 50), torch.sqrt(z * 1e30) / 1e15, torch.log(z * 1e-30)),
            lambda z, w: (torch.sqrt(0 * z), torch.sgn(0 * z), torch.complex(z.real, 0 * w.real)),
            lambda z, w: torch.sqrt(torch.complex(-z.real.abs(), 0 * z.imag)),
        ),
        two,
        tolerance=1e-4,
        **RAW,
    ),
    Case(
        "numbers",
        of_complex(
            lambda z, w: (z + 1, z - 2j, z * (1 + 1j), z / 3, 1 / z, 2 - z, torch.rsub(z, 3)),
            lambda z, w: (z == w, z != w, z == z.real, z == 1 + 2j, torch.logical_and(z, w)),
            lambda z, w: (z.masked_fill(w.real > 0, 1 + 2j), torch.where(w.real > 0, z, 3.0)),
            lambda z, w: (z.to(torch.float64), z.to(torch.bool), z.to(torch.complex128)),
            lambda z, w: (torch.zeros_like(z), z.new_ones(2), torch.eye(3, dtype=z.dtype)),
            lambda z, w: torch.ones_like(z, dtype=torch.float64),
        ),
        two,
        tolerance=1e-4,
        **EP,
    ),
    Case(
        "scaled_operands",
        of_complex(
            lambda z, w: (torch.add(z, w, alpha=2 - 1j), torch.sub(z, w, alpha=3)),
            lambda z, w: (torch.ops.aten.add.Scalar(z, 3, 2), torch.ops.aten.sub.Scalar(z, 3, 2)),
            lambda z, w: (torch.rsub(z, 3, alpha=2), torch.rsub(z, w, alpha=1 + 2j)),
        ),
        two,
        tolerance=1e-4,
    ),
    Case(
        "parts",
        of_complex(
            lambda z, w: (
                z.cumsum(1),
                z.cumsum(1, dtype=z.dtype),
                z.tril(),
                z.triu(1),
                z.chunk(2, 1),
                z.unbind(0),
            ),
            lambda z, w: (z.sum(dtype=torch.complex128), z.split(z.shape[1], 1)),
            lambda z, w: functional.pad(z, (1, 2), value=3.0),
            lambda z, w: torch.constant_pad_nd(z, (1, 1), 1 + 2j),
            lambda z, w: (torch.cat([z[:, :0], z, w.real], 1), torch.outer(z[0], w[1])),
            lambda z, w: (
                torch.einsum("ij,ij->j", z, w),
                torch.einsum("ij,kj->ik", z, w.real + 0j),
            ),
        ),
        two,
        tolerance=1e-4,
        **RAW,
    ),
    Case("selected", of_complex(lambda z, w: (z[w.real > 0], z.masked_select(w.real > 0))), two),
    Case(
        "spread",
        of_complex(
            lambda z, w: (z.var(1), z.std(), z.mean(1), torch.var_mean(z, 1, correction=0)),
            lambda z, w: (z.prod(), z.prod(1), z.prod(0, keepdim=True), z.cumprod(1), z.norm()),
        ),
        two,
        **ALONG,
    ),
    Case(
        "convolutions",
        of_complex(
            lambda z, w: functional.conv1d(z[None], w[None, :, :3], torch.tensor([1 + 2j])),
            lambda z, w: functional.conv_transpose1d(z[None], w[:, None, :3], stride=2),
            lambda z, w: torch.addbmm(
                z[:, :3], z[None, :, :3], w[None, :, :3], beta=0.5 + 1j, alpha=1 - 1j
            ),
        ),
        two,
        **ALONG,
    ),
    Case(
        "no_elements",
        of_complex(
            lambda z, w: (z[:0] * w[:0], z[:0].sum(), z[:0].sum(1), z[:0].log(), z[:, :0] @ w[:0]),
            lambda z, w: functional.pad(z[:0], (0, 1)),
        ),
        lambda n: (torch.randn(3, 4, 2), torch.randn(3, 4, 2)),
    ),
]
test_functions, test_functions_stock = fix_tests("complex", FUNCTIONS)

FFT = [
    Case("stft", lambda x: torch.view_as_real(spectrum(x)), lambda n: (torch.randn(1, 4 * n),)),
    Case(
        "istft",
        lambda x: torch.istft(spectrum(x), 8, 4, 8, window=torch.hann_window(8)),
        lambda n: (torch.randn(1, 24),),
    ),
    Case(
        "irfft_odd",
        lambda x: torch.fft.irfft(torch.fft.rfft(x), n=7),
        lambda n: (torch.randn(2, 7),),
    ),
    Case(  # π at both ends of the spectrum, where -π is as near
        "phases",
        lambda x: (torch.fft.rfft(x).angle(), torch.fft.rfft(x, norm="ortho").angle()),
        lambda n: (torch.randn(8, n),),
    ),
    Case("fft2", lambda x: torch.fft.fft2(x).abs(), lambda n: (torch.randn(4, 6),), tolerance=1e-4),
    *(  # in stages, of which each length has others
        Case(
            f"stages_{length}",
            lambda x, length=length: (
                torch.view_as_real(torch.fft.rfft(x)),
                torch.view_as_real(torch.fft.fft(x, norm="ortho")),
                torch.view_as_real(torch.fft.ifft(torch.fft.fft(x, norm="ortho").square())),
                torch.fft.irfft(torch.fft.rfft(x, norm="ortho").square(), n=length, norm="ortho"),
                torch.view_as_real(torch.fft.fft2(x.mT, s=(length, 3), norm="ortho")),
            ),
            lambda n, length=length: (torch.randn(n, length) / 8,),
        )
        for length in (64, 66, 75, 93, 96, 1102)
    ),
]
test_fft, test_fft_stock = fix_tests("fft", FFT)


def test_long_transforms_have_no_matrix():
    """Their factors grow with the length, and not with its square."""
    length = 2048
    case = Case("long", lambda x: torch.fft.rfft(x).abs(), lambda n: (torch.randn(n, length),))
    constants = []

    def collect(expression):
        value = _compat.constant_value(expression)
        if value is not None:
            constants.append(value.size)

    module = import_program(export(case, symbolic=True), decomposed=True)
    relax.analysis.post_order_visit(module["main"], collect)
    assert 0 < sum(constants) < 16 * length


UNFOLD = [
    Case("windows", lambda x: x.unfold(1, 3, 2), rows, **EP),
    Case("strides", lambda x: torch.as_strided(x, (2, 3), (1, 2), 1), rows, symbolic=(False,)),
    Case("fewer", lambda x: torch.as_strided(x, (2, 3), (3, 1)), rows),
    Case(  # what shifts the scores of relative positions
        "symbolic_offset",
        lambda x: torch.as_strided(x, (2, 3), (x.shape[1] - 1, 1), 2 * x.shape[1] - 4),
        rows,
    ),
    Case("filled", lambda x: x.clone().fill_diagonal_(2.0), lambda n: (torch.randn(n, 3),)),
    Case("row", lambda x: torch.as_strided(x[1], (2, 2), (2, 1)), rows, decomposed=(False,)),
]
test_unfold, test_unfold_stock = fix_tests("unfold", UNFOLD)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: torch.as_strided(x[1:], (2, 2), (1, 2), 1), "an offset into the memory"),
        (lambda x: torch.as_strided(x[0], (3, 4), (6, 1)), "elements of the memory"),
        (lambda x: torch.as_strided(x.t(), (x.shape[1], 3), (3, 1)), "not contiguous"),
        (lambda x: torch.as_strided_scatter(x.t(), x[:2, :2], (2, 2), (1, 2)), "not contiguous"),
    ],
    ids=["offset", "beyond", "transposed", "scatter"],
)
def test_strides_over_what_a_tensor_is_a_view_of_are_refused(function, reason):
    program = export(Case("refused", function, rows), symbolic=False)
    with pytest.raises(UnsupportedOperatorError, match=reason):
        import_program(program, decomposed=False)


def scattered(x):
    return torch.as_strided_scatter(x, x[:2, :3] * 2, (2, 3), (3, 2), 1)


def test_places_beyond_a_symbolic_tensor_raise_when_the_program_runs():
    case = Case("scatter", scattered, lambda n: (torch.randn(n, 3),))
    run = compile_module(import_program(export(case, symbolic=True), decomposed=False))
    with pytest.raises(Exception, match="match_cast"):
        run(np.zeros((2, 3), "float32"))
    (x,) = case.inputs(3)
    np.testing.assert_array_equal(run(x.numpy())[0], scattered(x).numpy())


def test_strides_beyond_a_symbolic_tensor_raise_when_the_program_runs():
    case = Case("beyond", lambda x: torch.as_strided(x[0], (3, 4), (2, 1)), rows)
    run = compile_module(import_program(export(case, symbolic=True), decomposed=False))
    with pytest.raises(Exception, match="match_cast"):
        run(np.zeros((3, 6), "float32"))
    assert run(np.arange(27, dtype="float32").reshape(3, 9))[0].ravel()[-1] == 7


@pytest.mark.parametrize(
    ("function", "way_around"),
    [
        (lambda x: torch.complex(x, x), "view_as_real"),
        (lambda x: torch.complex(x, x).logcumsumexp(1).abs(), "real and imaginary parts"),
    ],
    ids=["output", "operator"],
)
def test_what_complex_numbers_cannot_do_is_refused(function, way_around):
    program = export(Case("refused", function, rows), symbolic=False)
    with pytest.raises(UnsupportedOperatorError, match=way_around):
        import_program(program, decomposed=True)
