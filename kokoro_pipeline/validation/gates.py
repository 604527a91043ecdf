"""The tolerances and the resulting verdicts.

Every error is relative to PyTorch in float64 on the same float32 inputs. A verdict is computed as
`error <= limit`, so that NaN fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import spectrum

Array = NDArray[Any]

NETWORK_MAX = 1e-4
"""Largest error of the output of a network, relative to the largest value of the reference."""
NETWORK_RMS = 1e-5
"""Root mean square of the error, relative to the same."""
WAVEFORM_MAX = 1e-6
"""Largest error of the waveform of the harmonic source, relative to its peak (which is below 1)."""
MAGNITUDE_MAX = 1e-5
"""Largest error of the source's magnitudes and complex coefficients.

It is relative to the largest magnitude, or absolute if that is larger than 1.
"""
PHASE_MAX = 1e-5
"""Largest error of the source's phases, in radians modulo 2 pi."""
TIE_MARGIN = 1e-4
"""A predicted length that is this close to a half-integer may be rounded either way."""
WHOLE_RATIO = 0.5
"""Rms distance of the whole audio to float64, relative to PyTorch float32's, for a long list."""
SHORT_WHOLE_RATIO = 1.0
"""The same for a list of less than LONG_LIST seconds.

The source is chaotic (a phase that crosses pi is audible), so that the ratio over a few short cases
varies by chance. float32 networks with a float64 source had 0.24 over 85 s, and up to 0.55 in a
single case.
"""
DECODER_SNR = {"tf32": 50.0, "bfloat16": 35.0, "float16": 50.0}
"""Minimum signal-to-noise ratio of the decoder's audio, in dB, by the reduced precision."""
LONG_LIST = 20.0
"""Seconds of audio from which on a list is long."""


@dataclass(frozen=True)
class Measurement:
    """The measurement of one quantity of one step of one case.

    Errors and limits are absolute, in the unit of the quantity; `rms_error` and `rms_limit` are
    None if only the maximum is judged. `peak` is the largest absolute value of the reference.
    `note` contains further information.
    """

    case: str
    step: str
    quantity: str
    max_error: float
    max_limit: float
    rms_error: float | None
    rms_limit: float | None
    peak: float
    passed: bool
    note: str = ""

    @property
    def usable(self) -> bool:
        """Whether the output had the right dtype and shape and was finite."""
        return np.isfinite(self.max_error)

    @property
    def strain(self) -> float:
        """The worse error relative to its limit; infinite if it is not finite."""
        shares = [_share(self.max_error, self.max_limit)]
        if self.rms_error is not None and self.rms_limit is not None:
            shares.append(_share(self.rms_error, self.rms_limit))
        return max(shares)


def judge_network(
    case: str, step: str, quantity: str, ours: Array, reference: Array
) -> Measurement:
    """Judge the output of a network by its largest and rms error relative to the peak."""
    if (wrong := _unusable(ours, reference.shape)) is not None:
        return judge_failed(case, step, quantity, wrong)
    error = ours.astype(np.float64) - reference
    peak = float(np.abs(reference).max())
    largest, rms = float(np.abs(error).max()), root_mean_square(error)
    return Measurement(
        case,
        step,
        quantity,
        largest,
        NETWORK_MAX * peak,
        rms,
        NETWORK_RMS * peak,
        peak,
        passed=largest <= NETWORK_MAX * peak and rms <= NETWORK_RMS * peak,
    )


def is_reduced(precision: str) -> bool:
    """Whether a precision rounds operands, so that the tolerances of float32 do not apply."""
    return precision in DECODER_SNR


def reduced_note(precision: str) -> str:
    """The note of a report for a decoder in reduced precision."""
    return (
        f"the decoder multiplies in {precision}: its audio is held to "
        f"{DECODER_SNR[precision]:g} dB of signal to noise instead of float32's tolerances"
    )


def judge_signal(
    case: str, step: str, quantity: str, ours: Array, reference: Array, precision: str
) -> Measurement:
    """Judge an output of reduced precision by the rms error, limited by `DECODER_SNR`.

    The note has the signal-to-noise ratio. The largest error is reported and limited by the peak.
    """
    if (wrong := _unusable(ours, reference.shape)) is not None:
        return judge_failed(case, step, quantity, wrong)
    error = ours.astype(np.float64) - reference
    peak, largest = float(np.abs(reference).max()), float(np.abs(error).max())
    rms, signal = root_mean_square(error), root_mean_square(reference)
    limit = signal * 10 ** (-DECODER_SNR[precision] / 20)
    ratio = 20 * np.log10(signal / rms) if rms else np.inf
    return Measurement(
        case,
        step,
        quantity,
        largest,
        peak,
        rms,
        limit,
        peak,
        passed=largest <= peak and rms <= limit,
        note=f"{ratio:.1f} dB of signal to noise",
    )


def judge_durations(case: str, step: str, ours: Array, lengths: Array) -> Measurement:
    """Judge whole frames per token, int64 [n], against the float64 `lengths` [n].

    `lengths` are after applying the speed and before rounding. A token whose length is within
    TIE_MARGIN of a half-integer may be off by one; the note lists it.
    """
    expected = round_lengths(lengths)
    if ours.shape != expected.shape:
        return judge_failed(
            case, step, "durations", f"shape {ours.shape}, expected {expected.shape}"
        )
    off = np.abs(ours - expected)
    tied = np.abs(lengths - np.floor(lengths) - 0.5) <= TIE_MARGIN
    excused = (off == 1) & tied
    wrong = np.flatnonzero((off > 0) & ~excused)
    notes = [f"token {i}: {ours[i]} for {expected[i]} ({lengths[i]:.6f})" for i in wrong[:5]]
    notes += [
        f"token {i}: {ours[i]} for {expected[i]}, a tie ({lengths[i]:.6f})"
        for i in np.flatnonzero(excused)
    ]
    return Measurement(
        case,
        step,
        "durations",
        float(off[~excused].max(initial=0)),
        0.0,
        None,
        None,
        float(expected.max()),
        passed=wrong.size == 0,
        note="; ".join(notes),
    )


def judge_source(
    case: str, step: str, har: Array, waveform: Array, reference: Array, window: Array
) -> list[Measurement]:
    """Judge `har` float32 [1, 22, 120t+1] against the float64 waveform [1, 600t] and its spectrum.

    `reference` is this spectrum, and `window` float64 [20] the window that it was computed with.
    """
    if (wrong := _unusable(har, reference.shape)) is not None:
        return [judge_failed(case, step, "har", wrong)]
    error = float(np.abs(spectrum.inverse(har, window) - waveform).max())
    crest = float(np.abs(waveform).max())
    apart = spectrum.distance(har, reference)
    spectral = MAGNITUDE_MAX * min(1.0, apart.peak)
    undecided = f"{apart.undecided} more lie on the cut itself" if apart.undecided else ""

    def measured(
        quantity: str, value: float, limit: float, peak: float, note: str = ""
    ) -> Measurement:
        return Measurement(
            case, step, quantity, value, limit, None, None, peak, passed=value <= limit, note=note
        )

    return [
        measured("waveform", error, WAVEFORM_MAX * crest, crest),
        measured("magnitude", apart.magnitude, spectral, apart.peak),
        measured("coefficient", apart.coefficient, spectral, apart.peak),
        measured("phase", apart.phase, PHASE_MAX, float(np.pi)),
        measured("phases across the cut", float(apart.wrong_side), 0.0, float(np.pi), undecided),
    ]


def judge_failed(case: str, step: str, quantity: str, note: str) -> Measurement:
    """A failed measurement of a quantity that could not be measured; `note` says why."""
    nothing = float("nan")
    return Measurement(
        case, step, quantity, nothing, 0.0, None, None, nothing, passed=False, note=note
    )


def round_lengths(lengths: Array) -> NDArray[np.int64]:
    """Round predicted lengths to whole frames, halves to even, at least one."""
    return np.maximum(np.rint(lengths), 1).astype(np.int64)


def root_mean_square(error: Array) -> float:
    """The root mean square; 0 for an empty array."""
    return float(np.sqrt(np.mean(np.square(error)))) if error.size else 0.0


def _unusable(ours: Array, shape: tuple[int, ...]) -> str | None:
    if ours.dtype != np.float32 or ours.shape != shape:
        return f"{ours.dtype} {list(ours.shape)}, expected float32 {list(shape)}"
    if not np.isfinite(ours).all():
        return f"{np.count_nonzero(~np.isfinite(ours))} of {ours.size} values are not finite"
    return None


def _share(error: float, limit: float) -> float:
    if not np.isfinite(error):
        return float("inf")
    if limit == 0.0:
        return 0.0 if error == 0.0 else float("inf")
    return error / limit
