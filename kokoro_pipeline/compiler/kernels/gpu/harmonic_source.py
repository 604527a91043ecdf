"""The harmonic source and its spectrum in fixed point, with the accuracy of float64.

This is kokoro's SineGen (see `model.source`) for devices without float64. Within a block of
samples, the phase of harmonic h advances by d = frac(F0 h / sample_rate) turns per sample. The
phase at the centre of block b is `block` * (d_0 + ... + d_b) turns, and it is linear between
centres. Then

    wave = tanh(bias + sum_h weight_h (amplitude sin + voiced_noise noise_h))     where voiced
    wave = tanh(bias + sum_h weight_h unvoiced_noise noise_h)                     elsewhere

Phases are integers in units of 2^-64 turns. They wrap modulo 1 exactly for audio of any length,
while float32 loses a hundredth of a turn within a second. The distance of a sample from a centre is
q / 2 increments with q odd, which is computed in integers as well. The rest uses `fixed_point`, to
1e-15. The spectrum is also summed in integers, so that the sign of a bin, which determines the
branch of its phase, is not affected by rounding.
"""

from __future__ import annotations

import numpy as np
from tvm import tirx

from kokoro_pipeline.errors import InputError

from ..common.builder import i64
from ..common.harmonic_source import HarmonicSource
from .fixed_point import ONE, encode, multiply, named, sine_of_turns, tanh
from .math import fma
from .threads import (
    Buffer,
    Expr,
    Parameter,
    T,
    add_to,
    bind,
    build_kernel,
    ceil_div,
    const,
    div,
    hold,
    i32,
    launch,
    mod,
    registers,
    store,
)

THREADS = 128
SUM_BITS = 56  # fraction bits of the argument of tanh: |y| < 64
NOISE_BITS = 58  # |noise| < 32
LEVEL_BITS = SUM_BITS + ONE - NOISE_BITS
BASIS_BITS = 58  # a sum of 20 products below 1 stays below 32


def pack_mix(source: HarmonicSource, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Pack the weights and the constants into int64 [3 H + 1].

    The rows are amplitude, voiced noise and unvoiced noise times the weight of each harmonic; the
    last element is the bias.

    Raises InputError for weights too large for fixed point.
    """
    rows = (
        (source.amplitude, SUM_BITS),
        (source.voiced_noise, LEVEL_BITS),
        (source.unvoiced_noise, LEVEL_BITS),
    )
    weights = [float(w) for w in np.ravel(weight)]
    try:
        words = [encode(level * w, bits) for level, bits in rows for w in weights]
        words.append(encode(float(np.ravel(bias)[0]), SUM_BITS))
    except OverflowError as error:
        raise InputError(
            f"the weights of the harmonic source are too large for fixed point: {error}; "
            "check the checkpoint with: kokoro-pipeline weights show"
        ) from error
    if source.amplitude * sum(map(abs, weights)) > 16:
        raise InputError("the weights of the harmonic source add up to more than fixed point holds")
    return np.array(words, np.int64)


def pack_basis(basis: np.ndarray) -> np.ndarray:
    """Encode the basis of the transform [2 bins, 1, taps] as int64 of the same shape."""
    words = [encode(float(value), BASIS_BITS) for value in basis.ravel()]
    return np.array(words, np.int64).reshape(basis.shape)


def phase_increments(source: HarmonicSource) -> tirx.PrimFunc:
    """The kernel F0 float32 [1, m] -> int64 [1, m, H]: turns per sample, 64 fraction bits, mod 1.

    F0 is in Hz, of either sign, with |F0| below 1e10; values below 1e-30 count as 0.
    """
    H, rate = source.harmonics, source.sample_rate
    blocks = tirx.Var("m", "int64")
    u64 = "uint64"

    def unsigned(value: int) -> Expr:
        return tirx.const(value, u64)

    def body(f0: Buffer, increments: Buffer) -> None:
        count = bind(i32(blocks) * H)
        with launch([ceil_div(count, THREADS)], [THREADS]) as ((block,), (thread,)):
            i = bind(block * THREADS + thread)
            with T.If(i < count), T.Then():
                pitch = hold(f0[div(i, H)])
                bits = hold(tirx.reinterpret("int32", pitch), "int32")
                exponent = tirx.bitwise_and(tirx.shift_right(bits, i32(23)), i32(255))
                mantissa = tirx.bitwise_or(tirx.bitwise_and(bits, i32(0x7FFFFF)), i32(0x800000))
                # F0 h = product * 2^(exponent - 150). As product < 2^28, product * 2^35 cannot
                # overflow.
                product = tirx.Cast(u64, mantissa) * tirx.Cast(u64, mod(i, H) + 1)
                scaled = hold(product * unsigned(1 << 35), u64)
                quotient = hold(tirx.truncdiv(scaled, unsigned(rate)), u64)
                remainder = hold(scaled - quotient * unsigned(rate), u64)
                shift = hold(exponent - i32(127 - 6), "int32")
                left = tirx.Cast(u64, tirx.min(tirx.max(shift, i32(0)), i32(40)))
                right = tirx.Cast(u64, tirx.min(tirx.max(i32(0) - shift, i32(0)), i32(63)))
                fine = tirx.truncdiv(tirx.shift_left(remainder, left), unsigned(rate))
                turns = hold(tirx.shift_left(quotient, left) + fine, u64)
                turns = hold(tirx.shift_right(turns, right), u64)
                signed = tirx.Cast("int64", turns)
                store(increments, i, tirx.Select(bits < i32(0), i64(0) - signed, signed))

    return build_kernel(
        f"gpu_phase_increments_h{H}r{rate}",
        [Parameter("f0", (1, blocks)), Parameter("increments", (1, blocks, H), "int64")],
        body,
    )


def excitation(source: HarmonicSource) -> tirx.PrimFunc:
    """The kernel (F0, noise, increments, sums, mix) -> wave int64 [1, block * m] in Q62.

    F0 float32 [1, m] in Hz; noise float32 [1, block * m, H] with absolute values below 32;
    increments int64 [1, m, H] as computed by `phase_increments`; sums int64 [1, m, H], their
    running sums along m; mix as returned by `pack_mix`.
    """
    H, N = source.harmonics, source.block
    blocks = tirx.Var("m", "int64")

    def body(
        f0: Buffer, noise: Buffer, increments: Buffer, sums: Buffer, mix: Buffer, wave: Buffer
    ) -> None:
        m = bind(i32(blocks))
        samples = bind(m * N)
        with launch([ceil_div(samples, THREADS)], [THREADS]) as ((block,), (thread,)):
            s = bind(block * THREADS + thread)
            with T.If(s < samples), T.Then():
                b, r = bind(div(s, N)), bind(mod(s, N))
                # Twice the distance to the centre of the sample's block, in samples.
                twice = bind(2 * r + 1 - N)
                before = twice < 0
                left = bind(tirx.max(tirx.Select(before, b - 1, b), i32(0)))
                right = bind(tirx.min(tirx.Select(before, b, b + 1), m - 1))
                # Before the first and after the last centre the phase is constant.
                steps = tirx.Select(before, twice + 2 * N, twice)
                steps = bind(tirx.Select(right > left, steps, i32(0)))
                voiced = f0[b] > const(source.voiced_threshold)
                row = bind(tirx.Select(voiced, i32(1), i32(2)))
                total = registers(1, "int64")
                store(total, 0, mix[i32(3 * H)])
                with T.serial(i32(0), i32(H)) as h:
                    with T.If(voiced), T.Then():
                        half = named(
                            tirx.bitwise_and(
                                tirx.shift_right(increments[right * H + h], i64(1)),
                                i64((1 << 63) - 1),
                            )
                        )
                        turns = sums[left * H + h] * i64(N) + half * tirx.Cast("int64", steps)
                        add_to(total, 0, multiply(sine_of_turns(turns), mix[h]))
                    exact = tirx.Cast("int64", noise[s * H + h] * const(2.0**NOISE_BITS))
                    add_to(total, 0, multiply(exact, mix[row * H + h]))
                store(wave, s, tanh(total[i32(0)], SUM_BITS))

    shape = (1, blocks, H)
    return build_kernel(
        f"gpu_excitation_h{H}b{N}",
        [
            Parameter("f0", (1, blocks)),
            Parameter("noise", (1, blocks * N, H)),
            Parameter("increments", shape, "int64"),
            Parameter("sums", shape, "int64"),
            Parameter("mix", (3 * H + 1,), "int64"),
            Parameter("wave", (1, blocks * N), "int64"),
        ],
        body,
    )


# atan on [0, tan(pi/8)] as x + x^3 p(x^2), error 1e-7 (Moshier, Cephes).
_ARCTANGENT = (8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1)


def arctangent(y: Expr, x: Expr) -> Expr:
    """atan2(y, x) for finite float32; error 3e-7. -0.0 counts as 0.0."""
    across = hold(tirx.Select(x < const(0), const(0) - x, x))
    up = hold(tirx.Select(y < const(0), const(0) - y, y))
    small, large = hold(tirx.min(across, up)), hold(tirx.max(across, up))
    ratio = hold(tirx.Select(large > const(0), small / tirx.max(large, const(1e-37)), const(0)))
    steep = ratio > const(0.41421356)
    z = hold(tirx.Select(steep, (ratio - const(1)) / (ratio + const(1)), ratio))
    square = hold(z * z)
    p: Expr = const(_ARCTANGENT[0])
    for coefficient in _ARCTANGENT[1:]:
        p = hold(fma(p, square, const(coefficient)))
    angle = hold(fma(p * square, z, z) + tirx.Select(steep, const(np.pi / 4), const(0)))
    angle = hold(tirx.Select(up > across, const(np.pi / 2) - angle, angle))
    angle = hold(tirx.Select(x < const(0), const(np.pi) - angle, angle))
    return hold(tirx.Select(y < const(0), const(0) - angle, angle))


def spectrum(bins: int, taps: int, hop: int) -> tirx.PrimFunc:
    """The kernel (wave, basis) -> float32 [1, 2 bins, columns]: magnitudes, then phases in radians.

    wave int64 [1, L] in Q62; basis int64 [2 bins, 1, taps] as returned by `pack_basis`, the real
    parts first. Column j is centred on sample j * hop, and columns = L // hop + 1. Beyond its ends
    the wave is reflected, which requires L >= taps.
    """
    length = tirx.Var("L", "int64")
    columns_all = tirx.floordiv(length, tirx.const(hop, "int64")) + 1

    def body(wave: Buffer, basis: Buffer, har: Buffer) -> None:
        columns, last = bind(i32(columns_all)), bind(i32(length) - 1)
        grid = [ceil_div(columns, THREADS), bins]
        with launch(grid, [THREADS]) as ((column_block, k), (thread,)):
            j = bind(column_block * THREADS + thread)
            with T.If(j < columns), T.Then():
                sums = registers(2, "int64")
                store(sums, 0, i64(0))
                store(sums, 1, i64(0))
                with T.serial(i32(0), i32(taps)) as tap:
                    at = bind(j * hop + tap - taps // 2)
                    at = bind(tirx.Select(at < 0, 0 - at, at))
                    at = bind(tirx.Select(at > last, 2 * last - at, at))
                    sample = named(wave[at])
                    for part in range(2):
                        factor = basis[(part * bins + k) * taps + tap]
                        add_to(sums, part, multiply(sample, factor))
                real, imaginary = (
                    hold(tirx.Cast("float32", sums[i32(part)]) * const(2.0**-BASIS_BITS))
                    for part in range(2)
                )
                magnitude = tirx.sqrt(fma(real, real, imaginary * imaginary))
                store(har, k * columns + j, magnitude)
                store(har, (bins + k) * columns + j, arctangent(imaginary, real))

    return build_kernel(
        f"gpu_spectrum_k{bins}t{taps}h{hop}",
        [
            Parameter("wave", (1, length), "int64"),
            Parameter("basis", (2 * bins, 1, taps), "int64"),
            Parameter("har", (1, 2 * bins, columns_all)),
        ],
        body,
    )
