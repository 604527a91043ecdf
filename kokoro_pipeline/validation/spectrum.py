"""The inverse of the source's spectrum, and the distance between two spectra.

`source_forward` returns the spectrum of its waveform, 11 magnitudes and 11 phases. The transform is
redundant (four-fold overlap), so the waveform can be recovered from it exactly. The inverse ignores
errors that do not correspond to any waveform, which is why magnitudes and phases are compared as
well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

N_FFT = 20
HOP = 5
BINS = N_FFT // 2 + 1
REAL_BINS = (0, N_FFT // 2)
"""The bins with real coefficients, whose phase is 0 or +pi."""

PHASE_FLOOR = 1e-4
"""The phases of bins are compared from this magnitude on, relative to the largest magnitude.

For smaller bins, the phase is ill-conditioned: an error e of the coefficient changes it by
e / magnitude. The error of the float64 source is 1e-11 of the largest magnitude (1e-7 rad at this
floor), that of a float32 transform 1e-7 (1e-3 rad).
"""
BRANCH_FLOOR = 1e-9
"""The distance of a coefficient from the branch cut at which its side is certain in float64.

It is relative to the largest magnitude. The branch cut is the negative real axis, or 0 for a real
bin. The decoder reads the raw phases: a bin on the wrong side is off by 2 pi, or by pi for a real
bin, which is audible however small its magnitude. A float32 transform sometimes puts bins below
1e-7 on the wrong side.
"""
FIRST_COLUMN_FLOOR = 1e-6
"""The same for the first column, which is symmetric by the reflection.

It is therefore real except for the rounding of the window, whose last bits differ between machines.
"""


def inverse(har: Array, window: Array) -> NDArray[np.float64]:
    """The waveform float64 [1, 5m] of har [1, 22, m+1], by weighted overlap-add, centred.

    `window` [20] must be exactly that of the forward transform.
    """
    magnitude, phase = har[0, :BINS].astype(np.float64), har[0, BINS:].astype(np.float64)
    frames = np.fft.irfft(magnitude * np.exp(1j * phase), n=N_FFT, axis=0) * window[:, None]
    count = frames.shape[1]
    total = np.zeros((count + N_FFT // HOP - 1) * HOP)
    weight = np.zeros_like(total)
    # Column j starts at sample 5 j: add the k-th groups of five samples of all columns at once.
    for k in range(0, N_FFT, HOP):
        part = slice(k, k + count * HOP)
        total[part] += frames[k : k + HOP].T.ravel()
        weight[part] += np.tile(window[k : k + HOP] ** 2, count)
    kept = slice(N_FFT // 2, N_FFT // 2 + (count - 1) * HOP)
    return (total[kept] / weight[kept])[None]


@dataclass(frozen=True)
class SpectrumDistance:
    """The distance of a spectrum from the float64 spectrum, whose largest magnitude is `peak`.

    `magnitude` and `coefficient` (the complex difference) are absolute; `phase` is in radians
    modulo 2 pi, over the bins of at least PHASE_FLOOR; `wrong_side` counts the bins on the wrong
    side of the branch cut, `undecided` those too close to it to decide in float64.
    """

    peak: float
    magnitude: float
    coefficient: float
    phase: float
    wrong_side: int
    undecided: int


def distance(har: Array, reference: Array) -> SpectrumDistance:
    """The distance of har [1, 22, m+1] from `reference`, float64 of the same shape."""
    magnitude, phase = har[0, :BINS].astype(np.float64), har[0, BINS:].astype(np.float64)
    expected, angle = reference[0, :BINS], reference[0, BINS:]
    peak = float(expected.max())
    raw = phase - angle
    turn = np.abs((raw + np.pi) % (2 * np.pi) - np.pi)
    flipped = np.abs(raw) > np.pi
    settled = np.abs(expected * np.sin(angle)) > BRANCH_FLOOR * peak
    settled[:, 0] = np.abs(expected[:, 0] * np.sin(angle[:, 0])) > FIRST_COLUMN_FLOOR * peak
    for k in REAL_BINS:
        flipped[k] = np.abs(raw[k]) > np.pi / 2
        settled[k] = expected[k] > BRANCH_FLOOR * peak
    wanted = expected >= PHASE_FLOOR * peak
    return SpectrumDistance(
        peak=peak,
        magnitude=float(np.abs(magnitude - expected).max()),
        coefficient=float(
            np.abs(magnitude * np.exp(1j * phase) - expected * np.exp(1j * angle)).max()
        ),
        # max instead of nanmax, so that NaN affects the verdict.
        phase=float(turn[wanted].max(initial=0.0)),
        wrong_side=int(np.count_nonzero(flipped & settled)),
        undecided=int(np.count_nonzero(flipped & ~settled)),
    )
