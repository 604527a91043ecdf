"""What a harmonic source is: its rates, its overtones, its levels, its transform."""

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


@dataclass(frozen=True)
class Transform:
    """The constants of its short-time Fourier transform."""

    bins: int
    taps: int
    hop: int

    def fits(self, source: HarmonicSource) -> bool:
        """Whether the kernels support this transform of this source.

        Half a block has whole hops, and at least the elements of a vector; a block is at least as
        long as a frame, for the reflection; the sum of a frame fits fixed point.
        """
        frames = self.taps % 2 == 0 and self.taps % self.hop == 0 and self.taps <= 30
        return frames and source.block % (2 * self.hop) == 0 and source.block >= max(16, self.taps)
