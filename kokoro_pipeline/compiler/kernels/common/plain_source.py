"""The harmonic source as plain float64 tensor expressions: the slow reference used by `--opt 0`."""

from __future__ import annotations

import math

from tvm import te, tirx

from .builder import f64
from .harmonic_source import HarmonicSource, Transform


def plain_increments(source: HarmonicSource, f0: te.Tensor) -> te.Tensor:
    """Cycles per sample, modulo 1, float64 [1, m, H], of F0 float32 [1, m] in Hz."""

    def increment(_: tirx.Expr, b: tirx.Expr, h: tirx.Expr) -> tirx.Expr:
        pitch = tirx.Cast("float64", f0[0, b]) * tirx.Cast("float64", h + 1)
        cycles = pitch / f64(source.sample_rate)
        return cycles - tirx.floor(cycles)

    return te.compute((1, f0.shape[1], source.harmonics), increment, name="increments")


def plain_excitation(
    source: HarmonicSource,
    f0: te.Tensor,
    noise: te.Tensor,
    sums: te.Tensor,
    weight: te.Tensor,
    bias: te.Tensor,
) -> te.Tensor:
    """The waveform float64 [1, block * m]; `sums` are the running sums of the increments over m."""
    N = source.block
    samples = f0.shape[1] * N
    h = te.reduce_axis((0, source.harmonics), "h")

    def term(s: tirx.Expr) -> tirx.Expr:
        # The distance to the centre of the block on the left, in blocks; 0 outside of the centres.
        centre = (tirx.Cast("float64", s) + f64(0.5)) / f64(N) - f64(0.5)
        left = tirx.max(tirx.floor(centre), f64(0))
        share = tirx.max(centre - left, f64(0))
        at = tirx.Cast("int64", left)
        after = tirx.min(at + 1, f0.shape[1] - 1)
        cycles = [sums[0, block, h] * f64(N) for block in (at, after)]
        phase = cycles[0] * (f64(1) - share) + cycles[1] * share
        sine = tirx.sin((phase - tirx.floor(phase)) * f64(2 * math.pi)) * f64(source.amplitude)
        pitch = tirx.Cast("float64", f0[0, tirx.floordiv(s, N)])
        voiced = pitch > f64(source.voiced_threshold)
        level = tirx.Select(voiced, f64(source.voiced_noise), f64(source.unvoiced_noise))
        mixed = tirx.Select(voiced, sine, f64(0)) + level * tirx.Cast("float64", noise[0, s, h])
        return mixed * weight[0, h]

    total = te.compute((1, samples), lambda _, s: te.sum(term(s), axis=h), name="mixed")
    return te.compute((1, samples), lambda _, s: tirx.tanh(total[0, s] + bias[0]), name="wave")


def plain_spectrum(transform: Transform, wave: te.Tensor, basis: te.Tensor) -> te.Tensor:
    """Magnitudes, then phases, float32 [1, 2 bins, L // hop + 1], of a wave float64 [1, L]."""
    K, taps, hop = transform.bins, transform.taps, transform.hop
    last = wave.shape[1] - 1
    columns = tirx.floordiv(wave.shape[1], hop) + 1
    tap = te.reduce_axis((0, taps), "tap")

    def product(k: tirx.Expr, j: tirx.Expr) -> tirx.Expr:
        # Samples beyond the ends are reflected.
        at = tirx.abs(j * hop + tap - taps // 2)
        at = last - tirx.abs(last - at)
        return te.sum(wave[0, at] * basis[k, 0, tap], axis=tap)

    parts = te.compute((2 * K, columns), product, name="parts")

    def polar(_: tirx.Expr, row: tirx.Expr, j: tirx.Expr) -> tirx.Expr:
        k = tirx.floormod(row, K)
        real, imaginary = parts[k, j], parts[K + k, j]
        size = tirx.sqrt(real * real + imaginary * imaginary)
        angle = tirx.atan2(imaginary, real)
        return tirx.Cast("float32", tirx.if_then_else(row < K, size, angle))

    return te.compute((1, 2 * K, columns), polar, name="har")
