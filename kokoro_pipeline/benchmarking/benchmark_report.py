"""The results of a benchmark. Times are in seconds, sizes in bytes, unless stated otherwise."""

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
"""Time of an utterance outside of its steps: alignment, checks, joining, waiting."""


@dataclass(frozen=True)
class Utterance:
    """An utterance that was measured."""

    phonemes: str
    voice: str
    seconds: float
    """Length of the audio."""
    tokens: int
    chunks: int


@dataclass(frozen=True)
class SpeedResult:
    """The result of an utterance in a warm process."""

    utterance: Utterance
    threads: int
    total: Summary
    """Time of `Synthesizer.synthesize`, after a call with another length, if there are several."""
    cpu: Summary
    """CPU time of all threads for the same calls."""
    first_audio: Summary
    """Time from the call to the audio of the first chunk."""
    steps: Mapping[str, float]
    """Medians, `BETWEEN` last; measured separately, they add up to approximately the total."""

    @property
    def rtf(self) -> float:
        """Real-time factor: time / length of the audio."""
        return self.total.median / self.utterance.seconds


@dataclass(frozen=True)
class FreshResult:
    """The result of an utterance in fresh processes."""

    utterance: Utterance
    threads: int
    cold_start: ColdStart


@dataclass(frozen=True)
class PeerResult:
    """The result of a runtime, including ours, for one case, in turns with the others."""

    name: str
    utterance: Utterance
    threads: int
    total: Summary
    cpu: Summary
    ratio: float
    """Median over rounds of our time / its time; 1 for ours."""
    steps: Mapping[str, float]
    """Medians, `BETWEEN` last."""
    peak_memory: int
    """Peak memory of its process so far; utterances are in order of length."""
    agreement: tuple[Agreement, ...]

    @property
    def rtf(self) -> float:
        """Real-time factor."""
        return self.total.median / self.utterance.seconds

    @property
    def worst_error(self) -> float:
        """The largest error of the judged outputs, relative to the peak."""
        return max(a.error for a in self.agreement if a.limit is not None)

    @property
    def audio_snr_db(self) -> float | None:
        """SNR of the decoder for PyTorch's inputs; None if the audio is bit-identical."""
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
    """Size of the parameter file, which is mapped."""
    parameters_of: Mapping[str, int]
    """Sizes by function; functions may share parameters."""


@dataclass(frozen=True)
class KernelTable:
    """The kernels with a number of threads."""

    threads: int
    mcpu: str
    lanes: int
    """float32 elements per vector."""
    frames: int
    kernels: tuple[KernelSpeed, ...]


@dataclass(frozen=True)
class BenchmarkReport:
    """The complete results; parts that were not requested are empty."""

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
        """All fields and derived figures."""
        data = asdict(self)
        for entry, speed in zip(data["speeds"], self.speeds, strict=True):
            entry["rtf"] = speed.rtf
        for entry, peer in zip(data["peers"], self.peers, strict=True):
            entry["rtf"] = peer.rtf
            entry["worst_error"] = peer.worst_error
            entry["audio_snr_db"] = peer.audio_snr_db
        return data
