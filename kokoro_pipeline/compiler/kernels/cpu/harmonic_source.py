"""The harmonic source and its spectrum in float64.

The first kernel is vectorized over samples, the second over frames.

This is kokoro's SineGen (see `model.source`). Within a block of samples, the phase of harmonic h
advances by d = frac(F0 h / sample_rate) turns per sample. The phase at the centre of block b is
`block` * (d_0 + ... + d_b) turns; it is linear between centres and constant beyond the outer ones.
Then

    wave = tanh(bias + sum_h weight_h (amplitude sin + voiced_noise noise_h))     where voiced
    wave = tanh(bias + sum_h weight_h unvoiced_noise noise_h)                     elsewhere

A task is half a block, which lies between two centres and has a single F0. Whole turns are
subtracted from the phase before taking its sine, so that the argument is exact for audio of any
length.

The spectrum is a short-time Fourier transform with reflected ends, as magnitudes and angles. The
samples of a task are rearranged by their position within the hop, so that the samples which
neighbouring frames multiply with the same tap are adjacent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tvm import tirx

from ..common.builder import (
    Buffer,
    Expr,
    Parameter,
    T,
    bind,
    build_kernel,
    ceil_div,
    div,
    f64,
    i64,
    maximum,
    minimum,
    mod,
    registers,
)
from ..common.harmonic_source import HarmonicSource
from ..common.polynomials import SIN_POLYNOMIAL_64
from .vector import VectorTarget, store_first

FRAMES = 64  # frames per task of the spectrum

# Coefficients of P in atan(q) = q + q s P(s) with s = q^2, for q up to tan(pi / 8); error 6e-17.
ATAN_POLYNOMIAL = (
    0.022787466099543578,
    -0.04487326076375408,
    0.05738035310431905,
    -0.06649994275428266,
    0.07691104044674753,
    -0.09090856241875196,
    0.11111109794425013,
    -0.1428571426958075,
    0.19999999999929366,
    -0.3333333333333329,
)
EXP_TERMS = 13  # degree of the exponential's series, for |r| <= ln 2 / 2: error 5e-18
LN2_PARTS_64 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
SATURATED = 20.0  # beyond this, tanh is 1


@dataclass(frozen=True)
class _Doubles:
    """float64 vectors of a target."""

    target: VectorTarget

    @property
    def width(self) -> int:
        return self.target.lanes // 2

    def splat(self, value: Expr | float) -> Expr:
        return tirx.Broadcast(f64(value) if isinstance(value, int | float) else value, self.width)

    def load(self, buffer: Buffer, index: Expr) -> Expr:
        return buffer.vload([index], f"float64x{self.width}")

    def store(self, buffer: Buffer, index: Expr, value: Expr) -> None:
        T.buffer_store(buffer, value, [tirx.Ramp(index, i64(1), self.width)])

    def hold(self, value: Expr) -> Expr:
        """Bind a vector and hide its definition from the simplifier; see `VectorTarget.hold`."""
        register = registers(self.width, "float64")
        self.store(register, i64(0), value)
        return T.bind(self.load(register, i64(0)))

    def polynomial(self, x: Expr, coefficients: Sequence[float]) -> Expr:
        value = self.splat(coefficients[0])
        for coefficient in coefficients[1:]:
            value = self.hold(value * x + self.splat(coefficient))
        return value

    def sine_of_turns(self, turns: Expr) -> Expr:
        """sin(2 pi turns); absolute error 4e-16, not counting the rounding of `turns` itself."""
        turns = self.hold(turns)
        centred = self.hold(turns - tirx.floor(turns) - self.splat(0.5))
        # The phase shifted by half a turn, then reduced by symmetry to at most a quarter turn.
        size = self.hold(tirx.max(centred, self.splat(0.0) - centred))
        distance = self.hold(size - self.splat(0.25))
        quarter = self.splat(0.25) - tirx.max(distance, self.splat(0.0) - distance)
        r = self.hold(quarter * self.splat(2.0 * math.pi))
        z = self.hold(r * r)
        sine = self.hold(r + r * z * self.polynomial(z, SIN_POLYNOMIAL_64))
        return self.hold(tirx.Select(centred < self.splat(0.0), sine, self.splat(0.0) - sine))

    def tanh(self, x: Expr) -> Expr:
        """Hyperbolic tangent; absolute error 3e-16."""
        low, high = self.splat(-SATURATED), self.splat(SATURATED)
        x = self.hold(tirx.min(high, tirx.max(low, x)))
        n = self.hold(tirx.nearbyint(x * self.splat(2.0 / math.log(2.0))))
        r = self.hold(x + x)
        for part in LN2_PARTS_64:
            r = self.hold(r - n * self.splat(part))
        series = [1.0 / math.factorial(k) for k in range(EXP_TERMS, -1, -1)]
        mantissa = self.polynomial(r, series)
        # 2^n: adding n to this constant puts n into the lowest bits of the sum.
        integers = f"int64x{self.width}"
        bits = tirx.reinterpret(integers, self.hold(n + self.splat(1.5 * 2.0**52)))
        places = tirx.Broadcast(i64(52), self.width)
        scale = tirx.shift_left(bits, places) + tirx.Broadcast(i64(1023 << 52), self.width)
        power = self.hold(mantissa * tirx.reinterpret(f"float64x{self.width}", scale))
        one = self.splat(1.0)
        return self.hold(one - self.splat(2.0) / (one + power))

    def angle(self, y: Expr, x: Expr) -> Expr:
        """atan2(y, x); absolute error 5e-16. The result for (0, 0) is 0; -0.0 counts as 0.0."""
        zero = self.splat(0.0)
        y, x = self.hold(y), self.hold(x)
        high, wide = self.hold(tirx.max(y, zero - y)), self.hold(tirx.max(x, zero - x))
        most, least = self.hold(tirx.max(high, wide)), self.hold(tirx.min(high, wide))
        # Above tan(pi / 8), atan(q) is computed as pi / 4 + atan((q - 1) / (q + 1)).
        far = least > most * self.splat(math.tan(math.pi / 8))
        top = self.hold(tirx.Select(far, least - most, least))
        bottom = self.hold(tirx.Select(far, least + most, most))
        base = self.hold(tirx.Select(far, self.splat(math.pi / 4), zero))
        q = self.hold(top / tirx.max(bottom, self.splat(1e-300)))
        s = self.hold(q * q)
        turn = self.hold(q + q * s * self.polynomial(s, ATAN_POLYNOMIAL) + base)
        turn = self.hold(tirx.Select(high > wide, self.splat(math.pi / 2) - turn, turn))
        turn = self.hold(tirx.Select(x < zero, self.splat(math.pi) - turn, turn))
        return self.hold(tirx.Select(y < zero, zero - turn, turn))


def pack_mix(weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Concatenate the weights of the harmonics and the bias into float64 [H + 1]."""
    return np.concatenate([np.ravel(weight), np.ravel(bias)]).astype(np.float64)


def excitation(target: VectorTarget, source: HarmonicSource) -> tirx.PrimFunc:
    """The kernel (F0, noise, mix) -> wave float64 [1, block * m].

    F0 float32 [1, m] in Hz; noise float32 [1, block * m, H]; mix as returned by `pack_mix`.
    """
    H, N = source.harmonics, source.block
    doubles = _Doubles(target)
    V = doubles.width
    half = N // 2
    blocks = tirx.Var("m", "int64")

    def body(f0: Buffer, noise: Buffer, mix: Buffer, wave: Buffer) -> None:
        centres = T.alloc_buffer((blocks * H,), "float64")  # phase at block centres, in turns
        with T.serial(i64(0), i64(H)) as h:
            total = registers(1, "float64")
            T.buffer_store(total, f64(0), [i64(0)])
            with T.serial(i64(0), blocks) as b:
                pitch = tirx.Cast("float64", f0[b]) * tirx.Cast("float64", h + 1)
                turn = T.bind(pitch / f64(source.sample_rate))
                T.buffer_store(total, total[i64(0)] + (turn - tirx.floor(turn)), [i64(0)])
                T.buffer_store(centres, total[i64(0)] * f64(N), [b * H + h])

        with T.parallel(i64(0), blocks * 2) as task:
            first = bind(task * half)
            left = bind(div(maximum(task - 1, 0), 2))
            right = bind(minimum(left + 1, blocks - 1))
            is_voiced = tirx.Cast("float64", f0[div(task, 2)]) > f64(source.voiced_threshold)
            amplitude = T.bind(tirx.Select(is_voiced, f64(source.amplitude), f64(0)))
            level = T.bind(
                tirx.Select(is_voiced, f64(source.voiced_noise), f64(source.unvoiced_noise))
            )
            mixed = T.alloc_buffer((half,), "float64")
            with T.serial(i64(0), i64(half)) as t:
                total_noise = f64(0)
                for h in range(H):
                    number = tirx.Cast("float64", noise[(first + t) * H + h])
                    total_noise = total_noise + number * mix[h]
                T.buffer_store(mixed, total_noise * level + mix[H], [t])

            # The last vector is moved back to end at the last sample.
            with T.serial(i64(0), i64(-(-half // V))) as vector:
                t = bind(minimum(vector * V, half - V))
                start = tirx.Cast("int32", first + t)
                samples = tirx.Cast(f"float64x{V}", tirx.Ramp(start, tirx.const(1, "int32"), V))
                position = (samples + doubles.splat(0.5)) / doubles.splat(float(N))
                centre = doubles.hold(position - doubles.splat(0.5))
                after = centre - doubles.splat(tirx.Cast("float64", left))
                share = doubles.hold(tirx.max(after, doubles.splat(0.0)))
                rest = doubles.hold(doubles.splat(1.0) - share)
                total = registers(V, "float64")
                doubles.store(total, i64(0), doubles.splat(0.0))
                with T.serial(i64(0), i64(H)) as h:
                    before = doubles.splat(centres[left * H + h]) * rest
                    turns = before + doubles.splat(centres[right * H + h]) * share
                    sine = doubles.sine_of_turns(turns)
                    sum_ = doubles.load(total, i64(0)) + sine * doubles.splat(mix[h])
                    doubles.store(total, i64(0), sum_)
                sines = doubles.load(total, i64(0)) * doubles.splat(amplitude)
                value = doubles.hold(sines + doubles.load(mixed, t))
                doubles.store(wave, first + t, doubles.tanh(value))

    return build_kernel(
        f"excitation_h{H}_b{N}_v{target.lanes}",
        [
            Parameter("f0", (1, blocks)),
            Parameter("noise", (1, blocks * N, H)),
            Parameter("mix", (H + 1,), "float64"),
            Parameter("wave", (1, blocks * N), "float64"),
        ],
        body,
    )


def spectrum(target: VectorTarget, bins: int, taps: int, hop: int) -> tirx.PrimFunc:
    """The kernel (wave, basis) -> float32 [1, 2 bins, frames]: magnitudes, then phases in radians.

    wave float64 [1, L]; basis float64 [2 bins, 1, taps], the real parts first. Frame j is centred
    on sample j * hop, and frames = L // hop + 1. Beyond its ends the wave is reflected, which
    requires L >= taps. `taps` must be a multiple of `hop`.
    """
    doubles = _Doubles(target)
    V = doubles.width
    length = tirx.Var("L", "int64")
    frames_all = tirx.floordiv(length, i64(hop)) + 1
    steps = FRAMES + taps // hop - 1

    def body(wave: Buffer, basis: Buffer, har: Buffer) -> None:
        frames, last = bind(div(length, hop) + 1), bind(length - 1)
        with T.parallel(i64(0), bind(ceil_div(frames, FRAMES))) as task:
            first = bind(task * FRAMES)
            apart = T.alloc_buffer((hop * steps,), "float64")
            with T.serial(i64(0), i64(steps * hop)) as i:
                sample = bind(first * hop + i - taps // 2)
                inside = bind(last - maximum(sample, i64(0) - sample))
                # Samples beyond the reflection belong to frames that do not exist.
                at = bind(maximum(last - maximum(inside, i64(0) - inside), 0))
                T.buffer_store(apart, wave[at], [mod(i, hop) * steps + div(i, hop)])

            parts = T.alloc_buffer((2 * bins * V,), "float64")
            left = bind(minimum(frames - first, FRAMES))
            with T.serial(i64(0), ceil_div(left, V)) as vector:
                f = bind(vector * V)
                sums = [registers(2 * V, "float64") for _ in range(bins)]
                for sum_ in sums:
                    for part in range(2):
                        doubles.store(sum_, i64(part * V), doubles.splat(0.0))
                with T.serial(i64(0), i64(taps)) as tap:
                    at = bind(mod(tap, hop) * steps + div(tap, hop) + f)
                    x = T.bind(doubles.load(apart, at))
                    for k, sum_ in enumerate(sums):
                        for part in range(2):
                            factor = doubles.splat(basis[(part * bins + k) * taps + tap])
                            old = doubles.load(sum_, i64(part * V))
                            doubles.store(sum_, i64(part * V), old + factor * x)
                for k, sum_ in enumerate(sums):
                    for part in range(2):
                        value = doubles.load(sum_, i64(part * V))
                        doubles.store(parts, i64((2 * k + part) * V), value)
                with T.serial(i64(0), i64(bins)) as k:
                    real = doubles.hold(doubles.load(parts, k * (2 * V)))
                    imaginary = doubles.hold(doubles.load(parts, k * (2 * V) + V))
                    size = tirx.sqrt(real * real + imaginary * imaginary)
                    angle = doubles.angle(imaginary, real)
                    for part, value in enumerate((size, angle)):
                        single = tirx.Cast(f"float32x{V}", value)
                        to = bind((k + part * bins) * frames + first + f)
                        store_first(har, to, single, V, left - f)

    return build_kernel(
        f"spectrum_k{bins}_t{taps}_h{hop}_v{target.lanes}",
        [
            Parameter("wave", (1, length), "float64"),
            Parameter("basis", (2 * bins, 1, taps), "float64"),
            Parameter("har", (1, 2 * bins, frames_all)),
        ],
        body,
    )
