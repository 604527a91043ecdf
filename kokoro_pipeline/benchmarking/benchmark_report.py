"""What a benchmark found. Times in seconds, sizes in bytes, unless said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..artifact.manifest import WeightsInfo
from .cold_start import ColdStart
from .kernels import KernelSpeed
from .machine import Machine
from .samples import Summary
from .verification import Agreement

BETWEEN = "between the steps"
"""What a whole utterance takes beyond its steps: alignment, checks, joining, waiting."""


@dataclass(frozen=True)
class Utterance:
    """What was spoken."""

    phonemes: str
    voice: str
    seconds: float
    """Of audio."""
    tokens: int
    chunks: int


@dataclass(frozen=True)
class SpeedResult:
    """One utterance in a warm process."""

    utterance: Utterance
    threads: int
    total: Summary
    """Of `Synthesizer.synthesize`, call to return, after one of another length if there are."""
    cpu: Summary
    """Of all threads, for the same calls."""
    first_audio: Summary
    """From the call to the first chunk's audio."""
    steps: Mapping[str, float]
    """Medians, `BETWEEN` last; they add up to about the total, being measured beside it."""

    @property
    def rtf(self) -> float:
        """Real-time factor: time / length of the audio."""
        return self.total.median / self.utterance.seconds


@dataclass(frozen=True)
class FreshResult:
    """One utterance in fresh processes."""

    utterance: Utterance
    threads: int
    cold_start: ColdStart


@dataclass(frozen=True)
class PeerResult:
    """One runtime, ourselves included, on one case, in turns with the others."""

    name: str
    utterance: Utterance
    threads: int
    total: Summary
    cpu: Summary
    ratio: float
    """Median over rounds of our time / its time; 1 for ourselves."""
    steps: Mapping[str, float]
    """Medians, `BETWEEN` last."""
    peak_memory: int
    """Of its process so far; utterances come in order of length."""
    agreement: tuple[Agreement, ...]

    @property
    def rtf(self) -> float:
        """Real-time factor."""
        return self.total.median / self.utterance.seconds

    @property
    def worst_error(self) -> float:
        """Of the outputs that are judged, as a part of the peak."""
        return max(a.error for a in self.agreement if a.limit is not None)

    @property
    def audio_snr_db(self) -> float | None:
        """Of the decoder on PyTorch's own inputs; None for equal bits."""
        return next(a.snr_db for a in self.agreement if a.output == "audio")


@dataclass(frozen=True)
class ArtifactFacts:
    """The artifact that was measured."""

    path: str
    weights: WeightsInfo
    mcpu: str
    opt_level: int
    library_bytes: int
    parameter_bytes: int
    """Of the file, which is mapped."""
    parameters_of: Mapping[str, int]
    """By function; functions may share some."""


@dataclass(frozen=True)
class KernelTable:
    """The kernels on so many threads."""

    threads: int
    mcpu: str
    lanes: int
    """float32 numbers of a vector."""
    frames: int
    kernels: tuple[KernelSpeed, ...]


@dataclass(frozen=True)
class BenchmarkReport:
    """Everything; parts that were not asked for are empty."""

    artifact: ArtifactFacts
    machine: Machine
    versions: Mapping[str, str]
    repeats: int
    warm_up: int
    speeds: tuple[SpeedResult, ...] = ()
    fresh: tuple[FreshResult, ...] = ()
    peers: tuple[PeerResult, ...] = ()
    kernels: tuple[KernelTable, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """All fields, and what follows from them."""
        data = asdict(self)
        for entry, speed in zip(data["speeds"], self.speeds, strict=True):
            entry["rtf"] = speed.rtf
        for entry, peer in zip(data["peers"], self.peers, strict=True):
            entry["rtf"] = peer.rtf
            entry["worst_error"] = peer.worst_error
            entry["audio_snr_db"] = peer.audio_snr_db
        return data
