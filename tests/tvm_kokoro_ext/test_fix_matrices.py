"""Factorizations of matrices, and what `torch.linalg` composes of them."""

import numpy as np
import pytest
import torch
from frontend_cases import Case, compile_module, export, fix_tests, import_program
from torch.nn import functional

import tvm_kokoro_ext

linalg, aten = torch.linalg, torch.ops.aten


def matrices(n):
    """A batch of n matrices, the first of which has a zero at the first pivot, and right sides."""
    x = torch.randn(n, 4, 4) + 2 * torch.eye(4)
    x[0, 0, 0] = 0.0
    return x, torch.randn(n, 4, 3)


def doubles(n):
    return tuple(x.double() for x in matrices(n))


def with_singular(n):
    """The last matrix has rank 1, the one before a row of zeros."""
    x, b = matrices(n)
    x[-1] = 1.0
    x[-2, 2] = 0.0
    return x, b


def sized(n):
    """One matrix of n rows."""
    return torch.randn(n, n) + 3 * torch.eye(n), torch.randn(n, 2)


def tall_and_wide(n):
    return torch.randn(2, n, 4), torch.randn(n - 3, n)


def positive(n):
    """Symmetric positive definite matrices and right sides."""
    x, b = matrices(n)
    return x @ x.mT + torch.eye(4), b


def complexes(n):
    return torch.randn(n, 4, 4, 2), torch.randn(n, 4, 3, 2)


def inverses(x, b):
    some = aten.linalg_inv_ex(x)
    return linalg.inv(x), x[0].inverse(), *some, linalg.inv(x[1:, :1, :1])


def solutions(x, b):
    vectors = linalg.solve(x, b[..., 0]), linalg.solve(x[1], b[1, :, 0])
    broadcast = linalg.solve(x[0], b), linalg.solve(x, b[0])
    right = linalg.solve(x, b.mT, left=False), *linalg.solve_ex(x, b)
    return linalg.solve(x, b), *vectors, *broadcast, *right, *aten._linalg_solve_ex(x, b)


def determinants(x, b):
    return linalg.det(x), x[0].det(), *aten._linalg_det(x), *linalg.slogdet(x), x.logdet()


def powers(x, b):
    tensor = linalg.tensorinv(x[0].reshape(2, 2, 4), ind=2)
    return linalg.matrix_power(x, -2), linalg.matrix_power(x[0], -1), tensor


def factors(x, b):
    packed, pivots, info = aten.linalg_lu_factor_ex(x)
    parts = linalg.lu(x), linalg.lu(x[0]), torch.lu_unpack(packed, pivots)
    results = [packed, pivots, info, *(t for part in parts for t in part)]
    for adjoint in (False, True):
        results.append(linalg.lu_solve(packed, pivots, b, adjoint=adjoint))
        results.append(linalg.lu_solve(packed, pivots, b.mT, left=False, adjoint=adjoint))
    some = *torch.lu_unpack(packed, pivots, False), *torch.lu_unpack(packed, pivots, True, False)
    return *results, *some, torch.lu_solve(b, packed, pivots)


def rectangular_factors(x, y):
    return *linalg.lu(x), *linalg.lu(y), *linalg.lu_factor_ex(x), *linalg.lu_factor_ex(y)


def triangular(x, b):
    flags = [(upper, unit) for upper in (False, True) for unit in (False, True)]
    solve = linalg.solve_triangular
    left = [solve(x, b, upper=upper, unitriangular=unit) for upper, unit in flags]
    right = [solve(x, b.mT, upper=upper, left=False, unitriangular=unit) for upper, unit in flags]
    old = [torch.triangular_solve(b, x, transpose=t, unitriangular=True)[0] for t in (False, True)]
    return *left, *right, *old, solve(x[0], b, upper=True), solve(x, b[0], upper=False)


def choleskys(x, b):
    lower, upper = linalg.cholesky(x), linalg.cholesky(x[0], upper=True)
    solved = torch.cholesky_solve(b, lower), torch.cholesky_solve(b[0], upper, upper=True)
    inverted = torch.cholesky_inverse(lower), torch.cholesky_inverse(upper, upper=True)
    return lower, upper, *linalg.cholesky_ex(x), torch.cholesky(x), *solved, *inverted


def reflections(x, y):
    modes = [linalg.qr(a, mode) for a in (x, y) for mode in ("reduced", "complete")]
    vectors, tau = x[:, :, :3], y[:2, :3]
    products = linalg.householder_product(vectors, tau), torch.orgqr(vectors, tau[:, :2])
    return *(t for pair in modes for t in pair), *linalg.qr(x, "r"), *products


def reflections_of_zeros(x, y):
    padded = functional.pad(x, (1, 1, 0, 2))
    return *linalg.qr(padded), *linalg.qr(-x[:, :1]), *linalg.qr(y[:, :1])


def of_complexes(x, b):
    x, b = torch.view_as_complex(x), torch.view_as_complex(b)
    solved = linalg.solve(x, b), linalg.solve(x, b[..., 0]), linalg.inv(x[0])
    singular = linalg.inv_ex(x * torch.tensor([1, 1, 0, 1]))[1]
    return *map(torch.view_as_real, solved), linalg.inv_ex(x)[1], singular


ANY = {"tolerance": 2e-4}


def of_no_elements(x):
    square = x[:, :0]
    whole = linalg.lu_factor_ex(x), linalg.lu_factor(square), linalg.det(square)
    return torch.utils._pytree.tree_leaves((whole, linalg.cholesky(square), linalg.inv(square)))


CASES = [
    Case("inverses", inverses, matrices, **ANY),
    Case("solutions", solutions, matrices, **ANY),
    Case("determinants", determinants, matrices, **ANY),
    Case("determinants of singular ones", determinants, with_singular, **ANY),
    Case("powers", powers, matrices, **ANY),
    Case("factors", factors, matrices, **ANY),
    Case("factors in float64", factors, doubles, tolerance=1e-10),
    Case("factors of singular ones", lambda x, b: linalg.lu_factor_ex(x), with_singular, **ANY),
    Case("factors of rectangles", rectangular_factors, tall_and_wide, **ANY),
    Case("triangular", triangular, matrices, **ANY),
    Case("cholesky", choleskys, positive, **ANY),
    Case("reflections", reflections, tall_and_wide, **ANY),
    Case("reflections of zeros", reflections_of_zeros, tall_and_wide, **ANY),
    Case("reflectors", lambda x, y: torch.geqrf(x), tall_and_wide, **ANY, symbolic=(False,)),
    Case("symbolic rows", lambda x, b: (*solutions_of_one(x, b), *linalg.qr(x)), sized, **ANY),
    Case("complex", of_complexes, complexes, **ANY),
    Case("no elements", of_no_elements, lambda n: (torch.randn(2, 3, 0),), symbolic=(False,)),
]


def solutions_of_one(x, b):
    return linalg.solve(x, b), linalg.inv(x), linalg.det(x), linalg.cholesky(x @ x.mT)


test_matrix, test_matrix_stock = fix_tests("matrix", CASES)


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(linalg.inv, id="inverse"),
        pytest.param(lambda x: linalg.solve(x, x[:, :1]), id="solution"),
        pytest.param(linalg.cholesky, id="cholesky"),
        pytest.param(lambda x: linalg.inv_ex(x, check_errors=True)[0], id="on request"),
        pytest.param(lambda x: linalg.cholesky_ex(x, check_errors=True)[0], id="of a factor"),
    ],
)
@pytest.mark.parametrize("decomposed", [True, False])
def test_a_singular_matrix_raises_when_the_program_runs(function, decomposed):
    """As in PyTorch: infinities are no inverse. A regular matrix passes in the same program."""
    regular = 3 * torch.eye(4)
    case = Case("singular", function, lambda n: (regular,))
    run = compile_module(import_program(export(case, False), decomposed))
    np.testing.assert_allclose(run(regular.numpy())[0], function(regular), rtol=1e-6)
    for singular in (torch.zeros(4, 4), torch.ones(4, 4)):
        with pytest.raises(linalg.LinAlgError):
            function(singular)
        with pytest.raises(Exception, match="failures"):
            run(singular.numpy())


@pytest.mark.parametrize(
    ("function", "operator"),
    [
        (lambda x: torch.view_as_real(linalg.det(torch.complex(x, x))), "linalg_lu_factor_ex"),
        (lambda x: linalg.cholesky(torch.complex(x, x)).real, "linalg_cholesky_ex"),
        (lambda x: linalg.svd(x)[0], "_linalg_svd"),
    ],
)
def test_what_is_not_factorized_is_refused_by_name(function, operator):
    case = Case("refused", function, lambda n: (torch.eye(4),))
    with pytest.raises(tvm_kokoro_ext.UnsupportedOperatorError, match=operator):
        import_program(export(case, False), True)
