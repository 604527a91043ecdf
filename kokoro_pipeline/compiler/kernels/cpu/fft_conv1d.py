"""Conv1d of stride 1 by overlap-save with real FFTs of N rows along time, for many taps.

With X, W the discrete Fourier transforms of N input rows and of the zero-padded taps,

    y[n] = sum_k x[n + k] w[k] = IDFT(X * conj(W))[n]        for n = 0 ... N - K,

which are the outputs whose rows do not wrap around. Inputs and taps are real, so the bins 0 ... N/2
suffice; the first and the last are real. Each of the others takes three real products of X and
conj(W) / N and stores two matrices (`bin_products`). In total there are N matrices, and
2 + 3 (N/2 - 1) products instead of K (N - K + 1): for N = 32 these are 47 instead of 242 (K = 11,
5.1 times fewer) or 182 (K = 7, 3.9 times fewer); for N = 64 and K = 11, 95 instead of 594 (6.3
times fewer), but with twice the weights to read.

The FFT is radix 2, down to pairs of rows. The largest error against float64 is 2.5e-6 of the
standard deviation of the result (rms 4e-7), about that of the direct sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kokoro_pipeline.errors import InputError

from ..common.builder import Expr
from .bin_products import Bins, Kind
from .transform import Load, Store, Transform
from .vector import VectorTarget

# The real and imaginary part of a number; None is a zero, which needs no operation.
Complex = tuple[Expr, Expr | None]


class _Arithmetic:
    """FFT butterflies on vectors that are held in registers."""

    def __init__(self, target: VectorTarget) -> None:
        self.target = target

    def add(self, a: Expr | None, b: Expr | None) -> Expr | None:
        if a is None or b is None:
            return a if b is None else b
        return self.target.hold(a + b)

    def subtract(self, a: Expr | None, b: Expr | None) -> Expr | None:
        if b is None:
            return a
        return self.target.hold((self.target.splat(0.0) if a is None else a) - b)

    def turn(self, value: Complex, angle: float) -> Complex:
        """value * e^(i angle)."""
        a, b = value
        if angle == 0.0:
            return value
        c, s = (self.target.splat(f(angle)) for f in (math.cos, math.sin))
        if b is None:
            return self.target.hold(a * c), self.target.hold(a * s)
        return self.target.hold(a * c - b * s), self.target.hold(a * s + b * c)

    def forward(self, row: Load, size: int, start: int = 0, stride: int = 1) -> list[Complex]:
        """The bins 0 ... size/2 of the `size` rows start, start + stride, ..."""
        if size == 2:
            a, b = row(start), row(start + stride)
            return [(self.add(a, b), None), (self.subtract(a, b), None)]
        half, quarter = size // 2, size // 4
        even = self.forward(row, half, start, 2 * stride)
        odd = self.forward(row, half, start + stride, 2 * stride)
        bins: list[Complex] = [(None, None)] * (half + 1)
        bins[0] = self.add(even[0][0], odd[0][0]), None
        bins[half] = self.subtract(even[0][0], odd[0][0]), None
        for k in range(1, quarter):
            turned = self.turn(odd[k], -2.0 * math.pi * k / size)
            bins[k] = self.add(even[k][0], turned[0]), self.add(even[k][1], turned[1])
            # For real rows, bin size/2 - k is the conjugate of bin size/2 + k = even - turned.
            bins[half - k] = (
                self.subtract(even[k][0], turned[0]),
                self.subtract(turned[1], even[k][1]),
            )
        bins[quarter] = even[quarter][0], self.subtract(None, odd[quarter][0])
        return bins

    def inverse(self, bins: list[Complex], size: int) -> list[Expr]:
        """The inverse of `forward`, times `size`: the rows that have the bins 0 ... size/2."""
        half, quarter = size // 2, size // 4
        if size == 2:
            return [self.add(bins[0][0], bins[1][0]), self.subtract(bins[0][0], bins[1][0])]
        even: list[Complex] = [(self.add(bins[0][0], bins[half][0]), None)]
        odd: list[Complex] = [(self.subtract(bins[0][0], bins[half][0]), None)]
        for k in range(1, quarter):
            (a, b), (c, d) = bins[k], bins[half - k]
            even.append((self.add(a, c), self.subtract(b, d)))
            difference = self.subtract(a, c), self.add(b, d)
            odd.append(self.turn(difference, 2.0 * math.pi * k / size))
        real, imaginary = bins[quarter]
        even.append((self.add(real, real), None))
        odd.append((self.subtract(None, self.add(imaginary, imaginary)), None))
        rows: list[Expr] = [None] * size
        rows[0::2] = self.inverse(even, half)
        rows[1::2] = self.inverse(odd, half)
        return rows


@dataclass(frozen=True)
class RealFFT(Transform):
    """The FFT of N rows; its numbers are bin 0, bin N/2, then (a + b) / 2, a, b of all others.

    Raises InputError if the window is not a power of two from 4, or shorter than the taps.
    """

    def __post_init__(self) -> None:
        if self.window < 4 or self.window & (self.window - 1) or self.outputs < 1:
            raise InputError(
                f"{self}: the window must be a power of two from 4, not shorter than the taps"
            )

    @property
    def bins(self) -> tuple[Bins, ...]:
        return Bins(Kind.REAL, 2), Bins(Kind.COMPLEX, self.window // 2 - 1)

    @property
    def algorithm(self) -> str:
        return f"fft{self.window}"

    @property
    def title(self) -> str:
        return f"FFT {self.window},"

    def forward(self, target: VectorTarget, row: Load, put: Store) -> None:
        numbers = _Arithmetic(target).forward(row, self.window)
        put(0, numbers[0][0])
        put(1, numbers[-1][0])
        for k, (a, b) in enumerate(numbers[1:-1]):
            put(2 + 3 * k, (a + b) * target.splat(0.5))
            put(3 + 3 * k, a)
            put(4 + 3 * k, b)

    def inverse(self, target: VectorTarget, product: Load) -> list[Expr]:
        arithmetic = _Arithmetic(target)
        between: list[Complex] = []
        first, last = product(0), product(1)
        for k in range(self.window // 2 - 1):
            between.append((product(2 + 2 * k), product(3 + 2 * k)))
        numbers: list[Complex] = [(first, None), *between, (last, None)]
        return arithmetic.inverse(numbers, self.window)[: self.outputs]

    def weights(self, weight: np.ndarray) -> np.ndarray:
        spectrum = np.conj(np.fft.rfft(weight, self.window, axis=2)) / self.window
        between = spectrum[:, :, 1:-1]
        c, d = between.real, between.imag
        parts = np.stack([2 * c, d - c], axis=3).reshape(*weight.shape[:2], -1)
        ends = spectrum[:, :, [0, -1]].real
        return np.concatenate([ends, parts], axis=2).transpose(0, 2, 1)
