"""The tolerances, and the verdicts they give.

Every error is that against float64 PyTorch on the same float32 inputs. A verdict says
`error <= limit`, so that a NaN fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import spectrum

Array = NDArray[Any]

NETWORK_MAX = 1e-4
"""Largest error of a network's output, as a share of the reference's largest value."""
NETWORK_RMS = 1e-5
"""Its root mean square, as a share of the same."""
WAVEFORM_MAX = 1e-6
"""Largest error of the harmonic source's waveform, as a share of its peak (which is below 1)."""
MAGNITUDE_MAX = 1e-5
"""Largest error of the source's magnitudes and complex coefficients, as a share of the largest
magnitude or, where that is over 1, absolutely."""
PHASE_MAX = 1e-5
"""Largest error of the source's phases, radians modulo 2 pi."""
TIE_MARGIN = 1e-4
"""A predicted length this near to a half may be rounded either way."""
WHOLE_RATIO = 0.5
"""The whole audio's rms distance to float64, as a share of PyTorch float32's, over a long list."""
SHORT_WHOLE_RATIO = 1.0
"""The same over a list of less than LONG_LIST seconds. The source is chaotic (a phase that crosses
pi is heard), so that over a few short cases the ratio is half luck; float32 networks with a float64
source had 0.24 over 85 s and up to 0.55 in a single case."""
DECODER_SNR = {"tf32": 50.0, "bfloat16": 35.0, "float16": 50.0}
"""Least signal-to-noise ratio of the decoder's audio, dB, where its products are of a reduced
precision."""
LONG_LIST = 20.0
"""Seconds of audio."""


@dataclass(frozen=True)
class Measurement:
    """One quantity of one step of one case.

    Errors and limits are absolute, in the quantity's unit; `rms_error` and `rms_limit` are None
    where only the maximum is judged. `peak` is the largest absolute value of the reference. `note`
    says what the figures cannot.
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
        """Whether there was an output of the right dtype and shape, all finite, to measure."""
        return np.isfinite(self.max_error)

    @property
    def strain(self) -> float:
        """The share of its limit that the worse error takes; infinite where that is no number."""
        shares = [_share(self.max_error, self.max_limit)]
        if self.rms_error is not None and self.rms_limit is not None:
            shares.append(_share(self.rms_error, self.rms_limit))
        return max(shares)


def judge_network(
    case: str, step: str, quantity: str, ours: Array, reference: Array
) -> Measurement:
    """A network's output against float64: largest error and rms, limited by shares of the peak."""
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


def reduced_note(precision: str) -> str:
    """What a report says of a decoder in reduced precision."""
    return (
        f"the decoder multiplies in {precision}: its audio is held to "
        f"{DECODER_SNR[precision]:g} dB of signal to noise instead of float32's tolerances"
    )


def judge_signal(
    case: str, step: str, quantity: str, ours: Array, reference: Array, precision: str
) -> Measurement:
    """An output of reduced precision against float64: its error's rms, limited by `DECODER_SNR`.

    The note has the signal-to-noise ratio. The largest error is told and held to the peak.
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
    """Whole frames per token, int64 [n], against float64's `lengths` [n].

    `lengths` has the speed applied and is not rounded yet.
    A token whose length is within TIE_MARGIN of a half may be off by one; the note names it.
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
    """`har` float32 [1, 22, 120t+1] against float64's waveform [1, 600t] and its spectrum.

    `reference` is that spectrum, and `window` float64 [20] the one that it was computed with.
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
    """The failure of a quantity that could not be measured; `note` says why."""
    nothing = float("nan")
    return Measurement(
        case, step, quantity, nothing, 0.0, None, None, nothing, passed=False, note=note
    )


def round_lengths(lengths: Array) -> NDArray[np.int64]:
    """Whole frames of predicted lengths: halves to even, at least one."""
    return np.maximum(np.rint(lengths), 1).astype(np.int64)


def root_mean_square(error: Array) -> float:
    """The root of the mean square, 0 of an empty array."""
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
