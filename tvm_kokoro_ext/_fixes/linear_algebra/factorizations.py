"""Factorizations of matrices and solutions of triangular systems, as serial kernels.

These are the kernels below `torch.linalg`; inverses, determinants and solutions are composed of
them by the decompositions of `program._matrices`. The algorithms are those of LAPACK without
blocks, which PyTorch calls, with the same choice of pivots and signs, so that the factors are
PyTorch's and not merely equivalent. They are meant for the small matrices that models contain. The
notation is that of Golub and Van Loan, "Matrix Computations", 4th edition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import T, relax, te, tirx
from tvm_kokoro_ext._fix import Converter, Fix
from tvm_kokoro_ext._fixes._shared import hypotenuse, indexing, loops, requirements

_PIVOTS = "int32"  # PyTorch's dtype of row numbers and of `info`


def _matrices(importer: Any, node: Any) -> tuple[Any, list[Any], Any, Any, str]:
    """The first operand [*batch, m, n], its batch, m, n and its dtype."""
    x = importer.retrieve_args(node)[0]
    *batch, m, n = _compat.shape_of(x)
    return x, batch, m, n, _compat.dtype_of(x)


def _smaller(m: Any, n: Any) -> Any:
    return min(m, n) if isinstance(m, int) and isinstance(n, int) else tirx.min(m, n)


def _copy(target: Any, source: Any, base: Any, count: Any) -> None:
    with T.serial(0, count) as i:
        target[base + i] = source[base + i]


def lu(importer: Any, node: Any, previous: Any) -> Any:
    """P L U by elimination with partial pivoting (`getrf`; Golub and Van Loan, algorithm 3.4.1).

    Gives (LU [*batch, m, n], pivots [*batch, min(m, n)] of int32, info [*batch] of int32). Row i
    was exchanged with row pivots[i], counted from 1. `info` is the number, from 1, of the first
    pivot that is zero, and 0 if there is none.
    """
    if _without_elements(node):
        return _zeros(importer, node)
    x, batch, m, n, dtype = _matrices(importer, node)
    pivot, check = _emit.arguments(importer, node, "A", "pivot", "check_errors", pivot=True)[1:]

    def body(dims: Any, out: Any, pivots: Any, info: Any, place: Any, held: Any, data: Any) -> None:
        (*_, rows, columns), (*_, steps) = dims[0], dims[1]
        with T.serial(0, _emit.extent(dims[0][:-2])) as matrix:
            base = matrix * rows * columns
            _copy(out, data, base, rows * columns)
            info[matrix] = tirx.const(0, _PIVOTS)
            with T.serial(0, steps) as k:
                place[0] = k
                if pivot:
                    with T.serial(0, rows - k - 1) as i:
                        best = tirx.abs(out[base + place[0] * columns + k])
                        row = k + 1 + i
                        with T.If(tirx.abs(out[base + row * columns + k]) > best), T.Then():
                            place[0] = row
                pivots[matrix * steps + k] = tirx.Cast(_PIVOTS, place[0] + 1)
                with T.If(place[0] != k), T.Then(), T.serial(0, columns) as j:
                    upper, lower = base + k * columns + j, base + place[0] * columns + j
                    held[0] = out[upper]
                    out[upper] = out[lower]
                    out[lower] = held[0]
                diagonal = out[base + k * columns + k]
                is_zero = diagonal == tirx.const(0, dtype)
                with T.If(tirx.all(is_zero, info[matrix] == 0)), T.Then():
                    info[matrix] = tirx.Cast(_PIVOTS, k + 1)
                with T.serial(0, tirx.if_then_else(is_zero, 0, rows - k - 1)) as i:
                    row = base + (k + 1 + i) * columns
                    held[0] = out[row + k] / out[base + k * columns + k]
                    out[row + k] = held[0]
                    with T.serial(0, columns - k - 1) as j:
                        column = k + 1 + j
                        above = out[base + k * columns + column]
                        out[row + column] = out[row + column] - held[0] * above

    results = [
        ([*batch, m, n], dtype),
        ([*batch, _smaller(m, n)], _PIVOTS),
        (batch, _PIVOTS),
        ([1], "int64"),
        ([1], dtype),
    ]
    factors, pivots, info = loops.emit(importer, body, results, x, hint="lu")[:3]
    return _with_info(importer, node, [factors, pivots], info, bool(check))


def _without_elements(node: Any) -> bool:
    """Whether the matrices have no rows or no columns, of which kernels would divide by 0."""
    return any(isinstance(size, int) and size == 0 for size in node.args[0].meta["val"].shape)


def _zeros(importer: Any, node: Any) -> Any:
    """The factors of matrices without elements, and an `info` of 0 for each."""
    parts = [_emit.filled(importer, recorded, 0) for recorded in node.meta["val"]]
    return _emit.emit(importer, relax.Tuple(parts))


def _with_info(importer: Any, node: Any, results: list[Any], info: Any, check: bool) -> Any:
    """The results and `info`, which kernels give as one element where it is 0-d."""
    if not node.meta["val"][-1].dim():
        info = _emit.emit(importer, relax.op.reshape(info, []))
    if check:
        requirements.require_all_zero(importer, info, f"{node.name}_failures")
    return _emit.emit(importer, relax.Tuple([*results, info]))


def unpack(importer: Any, node: Any, previous: Any) -> Any:
    """(P, L, U) of what `lu` gives, with P the permutation matrix [*batch, m, m] of A = P L U.

    What is not asked for is empty.
    """
    _, batch, m, n, dtype = _matrices(importer, node)
    names = ("LU_data", "LU_pivots", "unpack_data", "unpack_pivots")
    factors, pivots, wants_factors, wants_permutation = _emit.arguments(
        importer, node, *names, unpack_data=True, unpack_pivots=True
    )

    def permutation(dims: Any, out: Any, order: Any, pivots: Any, steps: Any) -> None:
        rows = dims[0][-1]
        with T.serial(0, _emit.extent(dims[0][:-2])) as matrix:
            with T.serial(0, rows) as i:
                order[i] = i
            with T.serial(0, steps) as k:
                other = tirx.Cast("int64", pivots[matrix * steps + k]) - 1
                order[rows] = order[k]
                order[k] = order[other]
                order[other] = order[rows]
            with loops.grid(rows, rows) as (i, j):
                is_one = order[j] == i
                out[(matrix * rows + i) * rows + j] = tirx.Cast(dtype, is_one)

    small = _smaller(m, n)
    exchange = lower = upper = _emit.emit(importer, relax.op.zeros([0], dtype))
    if wants_permutation:
        results = [([*batch, m, m], dtype), ([m + 1], "int64")]
        exchange = loops.emit(importer, permutation, results, pivots, small, hint="permutation")[0]
    if wants_factors:
        lower = _triangle(importer, factors, m, small, upper=False)
        upper = _triangle(importer, factors, small, n, upper=True)
    return _emit.emit(importer, relax.Tuple([exchange, lower, upper]))


def _triangle(importer: Any, x: Any, m: Any, n: Any, *, upper: bool) -> Any:
    """The upper triangle of x [*batch, m, n], or the lower one below a diagonal of ones."""

    def compute(x: Any, *shape: Any) -> Any:
        def element(*at: Any) -> Any:
            *_, i, j = at
            inside = i <= j if upper else i > j
            other = tirx.const(0, x.dtype) if upper else tirx.Cast(x.dtype, i == j)
            return tirx.if_then_else(inside, x(*at), other)

        return te.compute(shape, element, name="triangle")

    shape = map(_emit.int64, [*_compat.shape_of(x)[:-2], m, n])
    return _emit.emit_te(importer, compute, x, *shape, hint="triangle")


def cholesky(importer: Any, node: Any, previous: Any) -> Any:
    """L of A = L L^T, row by row (`potrf`; Golub and Van Loan, section 4.2.5).

    Gives (L [*batch, n, n], info [*batch] of int32). With `upper` it reads the upper triangle and
    gives L^T. `info` is the number, from 1, of the first diagonal element that is not positive
    when its root is taken, and 0 if there is none.
    """
    if _without_elements(node):
        return _zeros(importer, node)
    x, batch, n, _, dtype = _matrices(importer, node)
    upper, check = _emit.arguments(importer, node, "self", "upper", "check_errors")[1:]

    def body(dims: Any, out: Any, info: Any, held: Any, data: Any) -> None:
        size = dims[0][-1]
        with T.serial(0, _emit.extent(dims[0][:-2])) as matrix:
            base = matrix * size * size
            info[matrix] = tirx.const(0, _PIVOTS)

            def place(row: Any, column: Any) -> Any:
                """Where an element of the lower factor is, in the upper one too."""
                return base + (column * size + row if upper else row * size + column)

            with loops.grid(size, size) as (i, j):
                out[base + i * size + j] = tirx.const(0, dtype)
            with T.serial(0, size) as i, T.serial(0, i + 1) as j:
                held[0] = data[place(i, j)]
                with T.serial(0, j) as k:
                    held[0] = held[0] - out[place(i, k)] * out[place(j, k)]
                with T.If(i == j):
                    with T.Then():
                        fails = tirx.Not(held[0] > tirx.const(0, dtype))
                        with T.If(tirx.all(fails, info[matrix] == 0)), T.Then():
                            info[matrix] = tirx.Cast(_PIVOTS, i + 1)
                        out[place(i, j)] = tirx.sqrt(held[0])
                    with T.Else():
                        out[place(i, j)] = held[0] / out[place(j, j)]

    results = [([*batch, n, n], dtype), (batch, _PIVOTS), ([1], dtype)]
    factor, info = loops.emit(importer, body, results, x, hint="cholesky")[:2]
    return _with_info(importer, node, [factor], info, bool(check))


def solve_triangular(importer: Any, node: Any, previous: Any) -> Any:
    """X [*batch, n, k] of A X = B, or without `left` X [*batch, k, n] of X A = B.

    A is [*batch, n, n], of which one triangle is read; the batches are broadcast.
    """
    a, b, upper, left, unit = _emit.arguments(
        importer, node, "self", "B", "upper", "left", "unitriangular", left=True
    )
    if left:
        return _substituted(importer, a, b, bool(upper), bool(unit))
    a, b = (_transposed(importer, x) for x in (a, b))  # X A = B is A^T X^T = B^T
    return _transposed(importer, _substituted(importer, a, b, not upper, bool(unit)))


def _transposed(importer: Any, x: Any) -> Any:
    axes = list(range(len(_compat.shape_of(x))))
    return _emit.emit(importer, relax.op.permute_dims(x, [*axes[:-2], axes[-1], axes[-2]]))


def _substituted(importer: Any, a: Any, b: Any, upper: bool, unit: bool) -> Any:
    """Forward or back substitution (`trsm`; Golub and Van Loan, section 3.1), row by row of X."""
    (*first, n, _), (*second, _, k) = _compat.shape_of(a), _compat.shape_of(b)
    batch, dtype = indexing.broadcast_shapes([first, second]), _compat.dtype_of(b)

    def body(dims: Any, out: Any, a: Any, b: Any) -> None:
        size, width = dims[0][-2:]
        with T.serial(0, _emit.extent(dims[0][:-2])) as matrix:
            base = matrix * size
            with T.serial(0, size) as step:
                row = size - 1 - step if upper else step
                with T.serial(0, width) as c:
                    out[(base + row) * width + c] = b[(base + row) * width + c]
                with loops.grid(step, width) as (before, c):
                    other = size - 1 - before if upper else before
                    at = (base + row) * width + c
                    known = out[(base + other) * width + c]
                    out[at] = out[at] - a[(base + row) * size + other] * known
                if not unit:
                    with T.serial(0, width) as c:
                        at = (base + row) * width + c
                        out[at] = out[at] / a[(base + row) * size + row]

    spread = [
        _emit.emit(importer, relax.op.broadcast_to(x, [_emit.int64(d) for d in (*batch, *sizes)]))
        for x, sizes in ((a, (n, n)), (b, (n, k)))
    ]
    results = [([*batch, n, k], dtype)]
    return loops.emit(importer, body, results, *spread, hint="solve_triangular")[0]


def geqrf(importer: Any, node: Any, previous: Any) -> Any:
    return _emit.emit(importer, relax.Tuple(_reflectors(importer, importer.retrieve_args(node)[0])))


def _reflectors(importer: Any, x: Any) -> list[Any]:
    """R and the Householder vectors of A = Q R (`geqrf`; Golub and Van Loan, algorithm 5.2.1).

    Gives (a [*batch, m, n], tau [*batch, min(m, n)]): R is in the upper triangle of `a`, and below
    the diagonal of column k is v of H(k) = 1 - tau[k] v v^T, whose element k is 1.
    """
    *batch, m, n = _compat.shape_of(x)
    dtype = _compat.dtype_of(x)

    def body(dims: Any, out: Any, tau: Any, held: Any, data: Any) -> None:
        (*_, rows, columns), (*_, steps) = dims[0], dims[1]
        zero, norm, beta = tirx.const(0, dtype), 1, 2
        with T.serial(0, _emit.extent(dims[0][:-2])) as matrix:
            base = matrix * rows * columns
            _copy(out, data, base, rows * columns)
            with T.serial(0, steps) as k:
                diagonal, below = base + k * (columns + 1), rows - k - 1
                held[norm] = zero
                with T.serial(0, below) as i:
                    held[norm] = hypotenuse.hypot(held[norm], out[diagonal + (i + 1) * columns])
                tau[matrix * steps + k] = zero
                with T.If(held[norm] != zero), T.Then():
                    held[norm] = hypotenuse.hypot(out[diagonal], held[norm])
                    held[beta] = tirx.if_then_else(out[diagonal] >= zero, -held[norm], held[norm])
                    tau[matrix * steps + k] = (held[beta] - out[diagonal]) / held[beta]
                    held[norm] = out[diagonal] - held[beta]
                    with T.serial(0, below) as i:
                        at = diagonal + (i + 1) * columns
                        out[at] = out[at] / held[norm]
                    out[diagonal] = held[beta]
                    with T.serial(0, columns - k - 1) as j:
                        column = _Column(out, diagonal + 1 + j, columns)
                        vector = _Column(out, diagonal, columns)
                        _reflect(column, vector, below, tau[matrix * steps + k], held)

    results = [([*batch, m, n], dtype), ([*batch, _smaller(m, n)], dtype), ([3], dtype)]
    return loops.emit(importer, body, results, x, hint="geqrf")[:2]


@dataclass(frozen=True)
class _Column:
    """A part of a column in a buffer: where it begins, and the distance of two elements."""

    buffer: Any
    start: Any
    stride: Any

    def __getitem__(self, i: Any) -> Any:
        return self.buffer[self.start + i * self.stride]

    def __setitem__(self, i: Any, value: Any) -> None:
        self.buffer[self.start + i * self.stride] = value


def _reflect(column: _Column, vector: _Column, below: Any, tau: Any, held: Any) -> None:
    """Apply 1 - tau v v^T to a column; v is 1 and then the `below` elements behind vector[0]."""
    held[0] = column[0]
    with T.serial(0, below) as i:
        held[0] = held[0] + vector[i + 1] * column[i + 1]
    held[0] = held[0] * tau
    column[0] = column[0] - held[0]
    with T.serial(0, below) as i:
        column[i + 1] = column[i + 1] - vector[i + 1] * held[0]


def householder_product(importer: Any, node: Any, previous: Any) -> Any:
    vectors, tau = importer.retrieve_args(node)
    return _product(importer, vectors, tau, _compat.shape_of(vectors)[-1])


def _product(importer: Any, vectors: Any, tau: Any, n: Any) -> Any:
    """The first n columns of H(1) H(2) … H(k), of what `geqrf` gives (`orgqr`).

    The vectors are columns of [*batch, m, any], the factors [*batch, k].
    """
    (*batch, m, given), k = _compat.shape_of(vectors), _compat.shape_of(tau)[-1]
    dtype = _compat.dtype_of(vectors)

    def body(dims: Any, out: Any, held: Any, data: Any, tau: Any, *sizes: Any) -> None:
        (*_, rows, columns), (steps, pitch) = dims[0], sizes
        with T.serial(0, _emit.extent(dims[0][:-2])) as matrix:
            base = matrix * rows * columns
            with loops.grid(rows, columns) as (i, j):
                out[base + i * columns + j] = tirx.Cast(dtype, i == j)
            with loops.grid(steps, columns) as (step, j):
                k = steps - 1 - step
                vector = _Column(data, (matrix * rows + k) * pitch + k, pitch)
                column = _Column(out, base + k * columns + j, columns)
                _reflect(column, vector, rows - k - 1, tau[matrix * steps + k], held)

    results = [([*batch, m, n], dtype), ([1], dtype)]
    return loops.emit(importer, body, results, vectors, tau, k, given, hint="householder")[0]


def qr(importer: Any, node: Any, previous: Any) -> Any:
    """(Q, R) of A [*batch, m, n]; with mode "r" Q is empty, with "complete" it is square."""
    x, mode = _emit.arguments(importer, node, "A", "mode", mode="reduced")
    *_, m, n = _compat.shape_of(x)
    packed, tau = _reflectors(importer, x)
    width = m if mode == "complete" else _smaller(m, n)
    r = _triangle(importer, packed, width, n, upper=True)
    if mode == "r":
        q = _emit.emit(importer, relax.op.zeros([0], _compat.dtype_of(x)))
    else:
        q = _product(importer, packed, tau, width)
    return _emit.emit(importer, relax.Tuple([q, r]))


def check_errors(importer: Any, node: Any, previous: Any) -> Any:
    info = importer.retrieve_args(node)[0]
    requirements.require_all_zero(importer, info, f"{node.name}_failures")
    return info


CONVERTERS: dict[str, Converter] = {
    "linalg_lu_factor_ex.default": lu,
    "lu_unpack.default": unpack,
    "linalg_cholesky_ex.default": cholesky,
    "linalg_solve_triangular.default": solve_triangular,
    "linalg_qr.default": qr,
    "geqrf.default": geqrf,
    "linalg_householder_product.default": householder_product,
    "_linalg_check_errors.default": check_errors,
}

FIX = Fix(
    id="matrix",
    what="factorizations of matrices, and so linalg.inv, det, solve and qr, are missing",
    op="aten.linalg_lu_factor_ex, aten.linalg_cholesky_ex, …",
    affected="",
    converters=CONVERTERS,
    probe=_probe.lacks(*CONVERTERS),
)
