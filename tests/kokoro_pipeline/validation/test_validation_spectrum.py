"""Recovering the waveform from its spectrum, and detecting all audible faults of a spectrum."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kokoro_pipeline.validation import gates, spectrum
from kokoro_pipeline.validation.stock_spectrum import stock_har, stock_window


def wave_of(samples: int, seed: int = 0) -> np.ndarray:
    """A source-like waveform: harmonics that glide, and noise. float64 [1, samples]."""
    rng = np.random.default_rng(seed)
    time = np.arange(samples) / 24_000
    phase = 2 * np.pi * np.cumsum(120 + 60 * np.sin(9 * time)) / 24_000
    tones = sum(np.sin(k * phase) / k for k in range(1, 10))
    return np.tanh(0.15 * tones + 0.01 * rng.standard_normal(samples))[None]


@pytest.mark.parametrize("frames", [1, 2, 7, 40])
def test_the_inverse_is_exact_on_a_float64_spectrum(frames: int) -> None:
    waveform = wave_of(600 * frames, frames)
    har = stock_har(waveform)
    assert har.dtype == np.float64 and har.shape == (1, 22, 120 * frames + 1)
    back = spectrum.inverse(har, stock_window())
    assert back.shape == waveform.shape
    assert np.abs(back - waveform).max() <= 1e-12


def test_rounding_the_spectrum_to_float32_costs_a_tenth_of_the_gate() -> None:
    """So what the gate of 1e-6 sees is the source's error and not that of its float32 output."""
    waveform = wave_of(24_000)
    har = stock_har(waveform).astype(np.float32)
    cost = np.abs(spectrum.inverse(har, stock_window()) - waveform).max()
    assert 0 < cost <= 0.2 * gates.WAVEFORM_MAX * np.abs(waveform).max()


def test_real_bins_of_the_reference_have_phase_0_or_plus_pi() -> None:
    phases = stock_har(wave_of(60_000))[0, [11, 21]]
    assert set(np.unique(phases)) == {0.0, np.pi}


def verdicts(waveform: np.ndarray, har: np.ndarray) -> set[str]:
    """The quantities that fail."""
    judged = gates.judge_source(
        "case",
        "source_forward",
        har.astype(np.float32),
        waveform,
        stock_har(waveform),
        stock_window(),
    )
    return {measured.quantity for measured in judged if not measured.passed}


def strongest(har: np.ndarray, rows: slice) -> tuple[int, int]:
    row, column = np.unravel_index(np.argmax(har[0, rows]), har[0, rows].shape)
    return int(row) + rows.start, int(column)


def negative(har: np.ndarray, row: int, within: float) -> int:
    """A column where the real bin `row` is negative and below `within` of the peak."""
    small = har[0, row] < within * har[0, :11].max()
    return int(np.flatnonzero(small & (har[0, 11 + row] > 3))[0])


def louder(har: np.ndarray) -> None:
    har[0, :11] *= 1 + 1e-5


def turn_a_loud_bin(har: np.ndarray) -> None:
    row, column = strongest(har, slice(1, 10))
    har[0, 11 + row, column] += 2e-5


def whole_turn(har: np.ndarray) -> None:
    """The same angle, 2 pi away: the decoder sees the raw number."""
    row, column = strongest(har, slice(1, 10))
    har[0, 11 + row, column] += 2 * np.pi


def minus_pi_at_dc(har: np.ndarray) -> None:
    """The result of atan2(-0, negative)."""
    har[0, 11, negative(har, 0, 1.0)] = -np.pi


def minus_pi_at_nyquist(har: np.ndarray) -> None:
    har[0, 21, negative(har, 10, 1.0)] = -np.pi


def wrong_sign_of_a_faint_real_bin(har: np.ndarray) -> None:
    har[0, 21, negative(har, 10, 1e-4)] = 0.0


def nan(har: np.ndarray) -> None:
    har[0, 5, 5] = np.nan


@pytest.mark.parametrize(
    ("spoil", "failing"),
    [
        (lambda har: None, set()),
        (louder, {"magnitude", "coefficient", "waveform"}),
        (turn_a_loud_bin, {"phase", "coefficient", "waveform"}),
        (whole_turn, {"phases across the cut"}),
        (minus_pi_at_dc, {"phases across the cut"}),
        (minus_pi_at_nyquist, {"phases across the cut"}),
        (wrong_sign_of_a_faint_real_bin, {"phases across the cut"}),
        (nan, {"har"}),
    ],
)
def test_each_fault_of_a_source_is_seen(
    spoil: Callable[[np.ndarray], None], failing: set[str]
) -> None:
    waveform = wave_of(24_000)
    har = stock_har(waveform)
    spoil(har)
    assert verdicts(waveform, har) >= failing
    assert bool(verdicts(waveform, har)) == bool(failing)


def test_a_coefficient_on_the_cut_may_lie_on_either_side() -> None:
    """Within 1e-9 of the peak float64 itself does not know; it is counted, and does not fail."""
    waveform = wave_of(6_000)
    reference = stock_har(waveform)
    row, column = strongest(reference, slice(1, 10))
    reference[0, 11 + row, column] = np.pi - 1e-12
    har = reference.copy()
    har[0, 11 + row, column] = -np.pi + 1e-12
    apart = spectrum.distance(har, reference)
    assert (apart.wrong_side, apart.undecided) == (0, 1)
    har[0, 11 + row, column] = -np.pi + 1e-3
    reference[0, 11 + row, column] = np.pi - 1e-3
    apart = spectrum.distance(har, reference)
    assert (apart.wrong_side, apart.undecided) == (1, 0)


def test_the_first_column_is_real_so_that_its_cut_is_chance() -> None:
    """Only the window's last bits, which differ between machines, turn it off the real axis."""
    waveform = wave_of(6_000)
    reference = stock_har(waveform)
    imaginary = reference[0, :11, 0] * np.sin(reference[0, 11:, 0])
    limit = spectrum.FIRST_COLUMN_FLOOR * reference[0, :11].max()
    assert np.abs(imaginary).max() < limit
    har = reference.copy()
    on_the_cut = np.abs(har[0, 12:21, 0]) > 3
    assert on_the_cut.any()
    har[0, 12:21, 0] = np.where(on_the_cut, -har[0, 12:21, 0], har[0, 12:21, 0])
    apart = spectrum.distance(har, reference)
    assert (apart.wrong_side, apart.undecided) == (0, np.count_nonzero(on_the_cut))


def test_a_float32_source_is_refused() -> None:
    """A phase that float32 cannot hold shows as an error of the waveform."""
    waveform = wave_of(24_000)
    off = stock_har(waveform + 2e-6 * np.sin(np.arange(24_000))[None])
    assert "waveform" in verdicts(waveform, off)
