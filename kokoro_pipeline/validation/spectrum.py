"""The inverse of the source's spectrum, and how far two spectra are apart.

`source_forward` returns the spectrum of its waveform, 11 magnitudes over 11 phases. The transform
is redundant (four-fold overlap), so the waveform can be had back from it exactly; what is no
spectrum of any waveform is projected away by that, which is why magnitudes and phases are compared
as well.
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
"""The bins whose coefficient is real, so that their phase is 0 or +pi."""

PHASE_FLOOR = 1e-4
"""Share of the largest magnitude from which on a bin's phase is compared as an angle. Below it, the
phase is as ill-conditioned as the bin is small: an error e of the coefficient turns it by e /
magnitude. The float64 source is good to 1e-11 of the largest magnitude (at the floor 1e-7 rad), a
float32 transform to 1e-7 (1e-3 rad)."""
BRANCH_FLOOR = 1e-9
"""Share of the largest magnitude that a coefficient must be away from the branch cut (the negative
real axis; for a real bin from 0) for the side it lies on to be settled in float64. The decoder is
fed the raw phases: a bin on the wrong side is off by 2 pi, or by pi for a real bin, and is heard,
however small its magnitude. A float32 transform puts bins below 1e-7 there now and then."""
FIRST_COLUMN_FLOOR = 1e-6
"""The same for the first column, whose samples are symmetric by the reflection: it is real but for
the rounding of the window, whose last bits differ between machines."""


def inverse(har: Array, window: Array) -> NDArray[np.float64]:
    """The waveform float64 [1, 5m] of har [1, 22, m+1], in float64.

    `window` [20] is the forward transform's own, to the last bit: weighted overlap-add, centred.
    """
    magnitude, phase = har[0, :BINS].astype(np.float64), har[0, BINS:].astype(np.float64)
    frames = np.fft.irfft(magnitude * np.exp(1j * phase), n=N_FFT, axis=0) * window[:, None]
    count = frames.shape[1]
    total = np.zeros((count + N_FFT // HOP - 1) * HOP)
    weight = np.zeros_like(total)
    # Column j starts at sample 5 j: add the columns' k-th groups of five samples at one go.
    for k in range(0, N_FFT, HOP):
        part = slice(k, k + count * HOP)
        total[part] += frames[k : k + HOP].T.ravel()
        weight[part] += np.tile(window[k : k + HOP] ** 2, count)
    kept = slice(N_FFT // 2, N_FFT // 2 + (count - 1) * HOP)
    return (total[kept] / weight[kept])[None]


@dataclass(frozen=True)
class SpectrumDistance:
    """How far a spectrum is from the float64 one; `peak` is the largest magnitude of that one.

    `magnitude` and `coefficient` (the complex difference) are absolute, `phase` in radians modulo 2
    pi over the bins of at least PHASE_FLOOR, `wrong_side` counts bins on the wrong side of the
    branch cut, `undecided` those that lie too near it for float64 to tell.
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
        # max and not nanmax: a NaN must reach the verdict.
        phase=float(turn[wanted].max(initial=0.0)),
        wrong_side=int(np.count_nonzero(flipped & settled)),
        undecided=int(np.count_nonzero(flipped & ~settled)),
    )
