"""What a harmonic source is: its rates, its overtones, its thresholds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HarmonicSource:
    """The constants of the harmonic source; `block` consecutive samples share one F0."""

    harmonics: int
    sample_rate: int
    block: int
    amplitude: float
    voiced_noise: float
    unvoiced_noise: float
    voiced_threshold: float
