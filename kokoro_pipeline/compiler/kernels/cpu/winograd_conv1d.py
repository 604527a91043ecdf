"""Conv1d of stride 1 by Winograd's (Toom and Cook's) short products F(M, K), for few taps.

N = M + K - 1 products, for N input rows, replace M * K products. The scheme is the transpose of
multiplying two polynomials by their values at N - 1 points p and at infinity,

    y = A [(G w) * (B x)],    A[n, p] = p^n,    G[p, k] = p^k / prod_{q != p} (p - q),
    B[p] = coefficients of prod_{q != p} (t - q),    B[infinity] = those of prod_q (t - q),

with A[M - 1, infinity] = G[infinity, K - 1] = 1 and zeros elsewhere in those rows. The points are 0
and pairs +a, -a: the rows of a pair have equal coefficients at even powers and opposite ones at odd
powers, so both are computed from two sums. The points have few significant bits, and so have the
entries of B and A.

F(6, 3) takes 8 products instead of 18, F(4, 3) 6 instead of 12, F(2, 3) 4 instead of 6; the weights
grow by a factor of 2.7, 2 and 1.3. With many channels, few outputs are better: the time for short
inputs is then spent reading the weights, and errors grow with the number of terms of a sum.

The largest and the rms error against float64, relative to the standard deviation of the result, are
2e-5 and 1.3e-6 for F(6, 3) and 6e-6 and 6e-7 for F(4, 3) with 256 channels, and 2e-6 and 4e-7 for
F(2, 3) with 1024 channels. Those of the direct sum are 2e-6 and 3e-7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from kokoro_pipeline.errors import InputError

from ..common.builder import Expr
from .bin_products import Bins, Kind
from .transform import Load, Store, Transform
from .vector import VectorTarget

# The positive points of the pairs, by the number of pairs: those with the least error among numbers
# with few significant bits.
POINTS: Mapping[int, tuple[float, ...]] = {1: (1.0,), 2: (0.625, 1.5), 3: (0.5, 1.0, 2.0)}


@dataclass(frozen=True)
class Winograd(Transform):
    """The transform F(M, K); the order of the numbers is 0, +a, -a, +b, -b, ..., infinity.

    Raises InputError if no points are known for the window.
    """

    def __post_init__(self) -> None:
        if self.outputs < 1 or self.window % 2 or self.window // 2 - 1 not in POINTS:
            sizes = [2 * pairs + 2 for pairs in POINTS]
            raise InputError(f"{self}: points are known for windows of {sizes} rows")

    @property
    def bins(self) -> tuple[Bins, ...]:
        return (Bins(Kind.REAL, self.window),)

    @property
    def algorithm(self) -> str:
        return f"winograd{self.outputs}"

    @property
    def title(self) -> str:
        return f"winograd F({self.outputs}, {self.taps}),"

    @property
    def pairs(self) -> tuple[float, ...]:
        return POINTS[self.window // 2 - 1]

    @property
    def points(self) -> list[float]:
        return [0.0, *(sign * a for a in self.pairs for sign in (1.0, -1.0))]

    def input_matrix(self) -> np.ndarray:
        """The matrix B, float64 [bins, window]."""
        rows = [
            [*np.poly([q for q in self.points if q != p])[::-1].tolist(), 0.0] for p in self.points
        ]
        return np.array([*rows, np.poly(self.points)[::-1].tolist()])

    def forward(self, target: VectorTarget, row: Load, put: Store) -> None:
        matrix = self.input_matrix()
        rows = [row(n) for n in range(self.window)]

        def combine(bin_: int, parity: int) -> Expr:
            terms = ((matrix[bin_, n], rows[n]) for n in range(parity, self.window, 2))
            return _weighted_sum(target, terms)

        put(0, combine(0, 0))
        for bin_ in range(1, self.window - 1, 2):
            even, odd = combine(bin_, 0), combine(bin_, 1)
            put(bin_, even + odd)
            put(bin_ + 1, even - odd)
        put(self.window - 1, combine(self.window - 1, 1))

    def inverse(self, target: VectorTarget, product: Load) -> list[Expr]:
        first = product(0)
        parities: tuple[list[Expr], list[Expr]] = [], []
        for bin_ in range(1, self.window - 1, 2):
            plus, minus = product(bin_), product(bin_ + 1)
            parities[0].append(target.hold(plus + minus))
            parities[1].append(target.hold(plus - minus))
        last = product(self.window - 1)
        results = []
        for n in range(self.outputs):
            terms = [(a**n, value) for a, value in zip(self.pairs, parities[n % 2], strict=True)]
            if n == 0:
                terms = [(1.0, first), *terms]
            if n == self.outputs - 1:
                terms = [*terms, (1.0, last)]
            results.append(_weighted_sum(target, terms))
        return results

    def weights(self, weight: np.ndarray) -> np.ndarray:
        matrix = np.zeros((self.window, self.taps))
        for i, p in enumerate(self.points):
            others = np.array([p - q for q in self.points if q != p])
            matrix[i] = p ** np.arange(self.taps) / others.prod()
        matrix[-1, -1] = 1.0
        return np.einsum("ik,ock->oic", matrix, weight, optimize=True)


def _weighted_sum(target: VectorTarget, terms: Iterable[tuple[float, Expr]]) -> Expr:
    """The sum of factor * value in order; a factor of 1 takes no multiplication."""
    total: Expr | None = None
    for factor, value in terms:
        if factor == 0.0:
            continue
        term = value if factor == 1.0 else value * target.splat(float(factor))
        total = term if total is None else total + term
    return target.hold(target.splat(0.0) if total is None else total)


def winograd_of(taps: int, outputs: int) -> Winograd:
    """F(outputs, taps). Raises InputError if no points are known for it."""
    return Winograd(taps, outputs + taps - 1)
