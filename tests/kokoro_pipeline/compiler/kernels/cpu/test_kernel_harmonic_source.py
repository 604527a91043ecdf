"""The harmonic source on vectors of float64 against the model's own mathematics."""

from __future__ import annotations

import numpy as np
import pytest
import tvm

from kokoro_pipeline.compiler.kernels.common.harmonic_source import HarmonicSource
from kokoro_pipeline.compiler.kernels.cpu.harmonic_source import excitation, pack_mix, spectrum

SOURCE = HarmonicSource(9, 24000, 300, 0.1, 0.003, 0.1 / 3, 10.0)
BINS, TAPS, HOP = 11, 20, 5
RNG = np.random.default_rng(6)
WEIGHT, BIAS = 0.5 * RNG.standard_normal((1, 9)), np.array([0.03])
BASIS = RNG.standard_normal((2 * BINS, 1, TAPS))
# As a real FFT has it: the first and the last bin have no imaginary part.
BASIS[[BINS, 2 * BINS - 1]] = 0.0


@pytest.fixture(scope="module")
def compiled(kernel_target):
    functions = {
        "excitation": excitation(kernel_target.vectors, SOURCE),
        "spectrum": spectrum(kernel_target.vectors, BINS, TAPS, HOP),
    }
    library = kernel_target.compile(list(functions.values()))
    return {name: library[str(f.attrs["global_symbol"])] for name, f in functions.items()}


def run(kernel, arguments, shape, dtype):
    result = tvm.runtime.tensor(np.full(shape, np.nan, dtype))
    kernel(*(tvm.runtime.tensor(argument) for argument in arguments), result)
    return result.numpy()


def pitches(blocks):
    """Voiced and unvoiced, below 0, on the threshold, and so high that a harmonic wraps."""
    f0 = 150 + 85 * np.sin(np.arange(blocks) / 20)
    f0[::7] = RNG.uniform(-20, 12, f0[::7].shape)
    f0[3::11] = 10.0
    f0[5::13] = 3000.0
    return f0[None].astype(np.float32)


def exact_wave(f0, noise):
    f0, blocks = f0[0].astype(np.float64), f0.shape[1]
    turns = f0[:, None] * np.arange(1, 10) / SOURCE.sample_rate
    centres = np.cumsum(turns - np.floor(turns), axis=0) * SOURCE.block
    position = (np.arange(blocks * SOURCE.block) + 0.5) / SOURCE.block - 0.5
    left = np.maximum(np.floor(position), 0).astype(int)
    right = np.minimum(left + 1, blocks - 1)
    share = np.maximum(position - left, 0)[:, None]
    phase = centres[left] * (1 - share) + centres[right] * share
    voiced = np.repeat(f0 > SOURCE.voiced_threshold, SOURCE.block)[:, None]
    sines = SOURCE.amplitude * np.sin(2 * np.pi * (phase - np.floor(phase)))
    level = np.where(voiced, SOURCE.voiced_noise, SOURCE.unvoiced_noise)
    mixed = np.where(voiced, sines, 0) + level * noise[0].astype(np.float64)
    return np.tanh(mixed @ WEIGHT[0] + BIAS)


def exact_spectrum(wave):
    padded = np.pad(wave, TAPS // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, TAPS)[::HOP]
    both = BASIS[:, 0] @ frames.T
    return both[:BINS], both[BINS:]


@pytest.mark.parametrize("blocks", [1, 2, 3, 17, 240])
def test_excitation_equals_float64(blocks, compiled):
    f0 = pitches(blocks)
    noise = RNG.standard_normal((1, SOURCE.block * blocks, 9)).astype(np.float32)
    mix = pack_mix(WEIGHT, BIAS)
    wave = run(compiled["excitation"], [f0, noise, mix], noise.shape[:2], np.float64)
    # The phases reach 1e5 turns, and float64 has 16 digits.
    np.testing.assert_allclose(wave[0], exact_wave(f0, noise), rtol=0, atol=1e-10)


@pytest.mark.parametrize("scale", [1.0, 1e-12, 30.0])
@pytest.mark.parametrize("length", [20, 35, 300, 315, 320, 1000])
def test_spectrum_equals_float64(length, scale, compiled):
    """Lengths whose frames fill no vector and no task; the cut of the angle is a real FFT's."""
    wave = scale * RNG.standard_normal((1, length))
    shape = (1, 2 * BINS, length // HOP + 1)
    har = run(compiled["spectrum"], [wave, BASIS], shape, np.float32)[0]
    real, imaginary = exact_spectrum(wave[0])
    np.testing.assert_allclose(har[:BINS], np.hypot(real, imaginary), rtol=1e-6, atol=1e-9 * scale)
    np.testing.assert_allclose(har[BINS:], np.arctan2(imaginary, real), rtol=0, atol=3e-7)
    negative = har[BINS][real[0] < 0]
    assert negative.size > 0 and (negative == np.float32(np.pi)).all()


def test_silence_has_no_angle(compiled):
    har = run(compiled["spectrum"], [np.zeros((1, 300)), BASIS], (1, 22, 61), np.float32)
    np.testing.assert_array_equal(har, 0.0)


def test_the_number_of_threads_cannot_show(compiled, set_threads):
    f0, noise = pitches(40), RNG.standard_normal((1, 12000, 9)).astype(np.float32)
    results = []
    for threads in (1, 2, 5):
        set_threads(threads)
        arguments = [f0, noise, pack_mix(WEIGHT, BIAS)]
        wave = run(compiled["excitation"], arguments, (1, 12000), np.float64)
        results.append(run(compiled["spectrum"], [wave, BASIS], (1, 22, 2401), np.float32))
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
