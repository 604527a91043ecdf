"""`torch.linalg` composed of factorizations, in PyTorch, as PyTorch's own kernels compose it.

Each function takes all arguments of an operator and returns all its results. The factorizations
themselves are converted by `linear_algebra.factorizations`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def solve(
    a: Any, b: Any, *, left: bool = True, check_errors: bool = False
) -> tuple[Any, Any, Any, Any]:
    import torch

    # As NumPy does, PyTorch takes B for a batch of vectors where its shape is that of A but one.
    is_vector = b.dim() == 1 or (a.dim() - 1 == b.dim() and a.shape[:-1] == b.shape)
    factors, pivots, info = torch.ops.aten.linalg_lu_factor_ex.default(a)
    matrix = b.unsqueeze(-1) if is_vector else b
    if a.is_complex():  # its own factors are converted only if the program reads them: refused
        x, info = _solve_complex(a, matrix, left)
    else:
        x = lu_solve(factors, pivots, matrix, left=left)
    _check(info, "linalg.solve", check_errors)
    return (x.squeeze(-1) if is_vector else x), factors, pivots, info


def _solve_complex(a: Any, b: Any, left: bool) -> tuple[Any, Any]:
    """The solution and `info` by the real system with [[re, -im], [im, re]] for each element.

    The columns of the real matrix for the first k complex ones span the same space, so that its
    pivot 2 k is zero, counted from 0, where pivot k of the complex matrix is.
    """
    import torch

    if not left:
        x, info = _solve_complex(a.mT, b.mT, True)
        return x.mT, info
    rows = torch.stack([a.real, -a.imag], -1), torch.stack([a.imag, a.real], -1)
    matrix = torch.stack(rows, -3).flatten(-4, -3).flatten(-2)
    pairs = torch.stack([b.real, b.imag], -2).flatten(-3, -2)
    x, _, _, info = solve(matrix, pairs)
    x = x.unflatten(-2, (-1, 2))
    return torch.complex(x[..., 0, :], x[..., 1, :]), (info + 1) // 2


def lu_solve(factors: Any, pivots: Any, b: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    """A X = B with A = P L U, or X A = B without `left`; with `adjoint` A is transposed."""
    import torch

    triangular = torch.ops.aten.linalg_solve_triangular.default
    permutation = torch.ops.aten.lu_unpack.default(factors, pivots, False)[0]
    # X A = B is A^T X^T = B^T.
    matrix = b if left else b.mT
    if left != adjoint:
        matrix = triangular(factors, permutation.mT @ matrix, upper=False, unitriangular=True)
        x = triangular(factors, matrix, upper=True)
    else:
        matrix = triangular(factors.mT, matrix, upper=False)
        x = permutation @ triangular(factors.mT, matrix, upper=True, unitriangular=True)
    return x if left else x.mT


def inverse(a: Any, *, check_errors: bool = False) -> tuple[Any, Any]:
    import torch

    one = torch.eye(a.shape[-1], dtype=a.real.dtype).to(a.dtype)
    result, _, _, info = solve(a, one.expand(a.shape))
    _check(info, "linalg.inv", check_errors)
    return result, info


def _check(info: Any, name: str, wanted: bool) -> None:
    if wanted:
        import torch

        torch.ops.aten._linalg_check_errors.default(info, name, is_matrix=info.dim() == 0)


def _sign_of(pivots: Any) -> Any:
    """The sign of the permutation [*batch], -1 for an odd number of exchanges."""
    import torch

    places = torch.arange(1, pivots.shape[-1] + 1, dtype=pivots.dtype)
    return 1 - 2 * ((pivots != places).sum(-1) % 2)


def _factors_of_either(a: Any) -> tuple[Any, Any]:
    """The factors of A, or of A transposed where PyTorch need not copy that for LAPACK."""
    import torch

    matrix = a.mT if a.is_contiguous() and not a.is_complex() else a
    return torch.ops.aten.linalg_lu_factor_ex.default(matrix)[:2]


def determinant(a: Any) -> tuple[Any, Any, Any]:
    factors, pivots = _factors_of_either(a)
    diagonal = factors.diagonal(dim1=-2, dim2=-1)
    return diagonal.prod(-1) * _sign_of(pivots), factors, pivots


def log_determinant(a: Any) -> tuple[Any, Any, Any, Any]:
    factors, pivots = _factors_of_either(a)
    diagonal = factors.diagonal(dim1=-2, dim2=-1)
    sign = diagonal.sign().prod(-1) * _sign_of(pivots)
    return sign, diagonal.abs().log().sum(-1), factors, pivots


def lu(a: Any, *, pivot: bool = True) -> tuple[Any, Any, Any]:
    import torch

    factors, pivots, _ = torch.ops.aten.linalg_lu_factor_ex.default(a, pivot=pivot)
    permutation, lower, upper = torch.ops.aten.lu_unpack.default(factors, pivots)
    return (permutation if pivot else a.new_empty(0)), lower, upper


def cholesky(a: Any, upper: bool = False) -> Any:
    import torch

    return torch.linalg.cholesky(a, upper=upper)


def cholesky_solve(b: Any, factor: Any, upper: bool = False) -> Any:
    import torch

    triangular = torch.ops.aten.linalg_solve_triangular.default
    lower = factor.mT if upper else factor
    return triangular(lower.mT, triangular(lower, b, upper=False), upper=True)


def cholesky_inverse(factor: Any, upper: bool = False) -> Any:
    import torch

    one = torch.eye(factor.shape[-1], dtype=factor.dtype)
    return cholesky_solve(one.expand(factor.shape), factor, upper)


def triangular_solve(
    b: Any, a: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Any, Any]:
    import torch

    matrix, upper = (a.mT, not upper) if transpose else (a, upper)
    x = torch.ops.aten.linalg_solve_triangular.default(
        matrix, b, upper=upper, unitriangular=unitriangular
    )
    return x, a


OWN: dict[str, Callable[..., Any]] = {
    "_linalg_solve_ex.default": solve,
    "linalg_lu_solve.default": lu_solve,
    "linalg_inv_ex.default": inverse,
    "_linalg_det.default": determinant,
    "_linalg_slogdet.default": log_determinant,
    "linalg_lu.default": lu,
    "cholesky.default": cholesky,
    "cholesky_solve.default": cholesky_solve,
    "cholesky_inverse.default": cholesky_inverse,
    "triangular_solve.default": triangular_solve,
}
