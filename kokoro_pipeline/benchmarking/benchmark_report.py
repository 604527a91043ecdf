"""The results of a benchmark. Times are in seconds, sizes in bytes, unless stated otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from ..artifact.manifest import WeightsInfo
from .cold_start import ColdStart
from .kernels import KernelSpeed
from .machine import Machine
from .samples import Summary

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
class LongTextResult:
    """Time to the first piece of a stream of `LONG_TEXT`, and to speak its first sentence alone."""

    threads: int
    first_audio: Summary
    sentence_alone: Summary


@dataclass(frozen=True)
class FreshResult:
    """The result of an utterance in fresh processes."""

    utterance: Utterance
    threads: int
    cold_start: ColdStart


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


class PeerResults(Protocol):
    """The results of a comparison; see `benchmarks.peers.comparison`."""

    def curve(self) -> Iterable[tuple[str, int, float, float]]:
        """(name, threads, seconds of audio, RTF) of each peer and utterance."""

    def sections(self) -> Iterable[str]:
        """The tables, as Markdown."""

    def to_json(self) -> list[dict[str, Any]]:
        """All fields and derived figures of each result."""


@dataclass(frozen=True)
class BenchmarkReport:
    """The complete results; parts that were not requested are empty."""

    artifact: ArtifactFacts
    machine: Machine
    versions: Mapping[str, str]
    repeats: int
    warm_up: int
    speeds: tuple[SpeedResult, ...] = ()
    long_texts: tuple[LongTextResult, ...] = ()
    fresh: tuple[FreshResult, ...] = ()
    peers: PeerResults | None = None
    kernels: tuple[KernelTable, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """All fields and derived figures."""
        data = asdict(replace(self, peers=None))
        data["peers"] = [] if self.peers is None else self.peers.to_json()
        for entry, speed in zip(data["speeds"], self.speeds, strict=True):
            entry["rtf"] = speed.rtf
        return data
