"""The comparison of an artifact with its peers: their processes, the turns, the results."""

from __future__ import annotations

import contextlib
import functools
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kokoro_pipeline.benchmarking.benchmark import (
    OURS,
    BenchmarkRequest,
    Progress,
    median_steps,
    our_process,
)
from kokoro_pipeline.benchmarking.benchmark_report import Utterance
from kokoro_pipeline.benchmarking.process import ContenderProcess
from kokoro_pipeline.benchmarking.samples import Sample, Summary, interleave, summarize
from kokoro_pipeline.benchmarking.tables import (
    format_megabytes,
    format_number,
    format_spread,
    format_threads,
    markdown_table,
)
from kokoro_pipeline.config import MAX_PHONEMES
from kokoro_pipeline.errors import CheckFailed, InputError

from .names import EXPORTED, check_peers
from .verification import Agreement

__all__ = ["PeerResult", "PeerResults", "check_peers", "compare"]

PEER_PAUSE = 0.1
"""Pause in seconds between the turns of two runtimes."""


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


class PeerResults(tuple[PeerResult, ...]):
    """The results of all runtimes, ours first for each utterance and number of threads."""

    def curve(self) -> Iterator[tuple[str, int, float, float]]:
        """(name, threads, seconds of audio, RTF) of each peer and utterance."""
        for r in self:
            if r.name != OURS:
                yield r.name, r.threads, r.utterance.seconds, r.rtf

    def sections(self) -> Iterator[str]:
        """The tables, as Markdown."""
        yield "### Against peers\n\n" + _peers(self)
        yield "### Steps of all, ms\n\n" + _peer_steps(self)

    def to_json(self) -> list[dict[str, Any]]:
        """All fields and derived figures of each result."""
        return [
            asdict(r) | {"rtf": r.rtf, "worst_error": r.worst_error, "audio_snr_db": r.audio_snr_db}
            for r in self
        ]


def compare(
    request: BenchmarkRequest,
    peers: Sequence[str],
    utterances: Sequence[Utterance],
    progress: Progress,
) -> tuple[PeerResults, dict[str, str]]:
    """Measure the peers in turns with the artifact; their results, ours first, and versions.

    Raises InputError for an utterance of several chunks, and the errors of `run_benchmark`.
    """
    too_long = [u for u in utterances if u.chunks > 1]
    if too_long:
        raise InputError(
            f"peers speak one chunk of at most {MAX_PHONEMES} phonemes, and "
            f"{too_long[0].seconds:.0f} s of audio have {len(too_long[0].phonemes)}: "
            "compare at shorter lengths with --seconds"
        )
    results: list[PeerResult] = []
    versions: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="kokoro-benchmark-") as files:
        prepared = _prepare_peers(request, peers, utterances, Path(files), progress)
        for threads in request.threads:
            found, theirs = _compare_at(prepared, peers, utterances, threads, progress)
            results += found
            versions |= theirs
    return PeerResults(results), versions


@dataclass(frozen=True)
class _Prepared:
    """Inputs of the contenders: files of cases, references and models, and the weights folder."""

    request: BenchmarkRequest
    files: Path
    weights: str

    def case(self, index: int) -> str:
        return str(self.files / f"case{index}.npz")

    def reference(self, index: int) -> str:
        return str(self.files / f"reference{index}.npz")

    def contender(self, name: str, threads: int) -> ContenderProcess:
        if name == OURS:
            return our_process(self.request, threads, "benchmarks.peers.ours:OurContender")
        kind = "benchmarks.peers.contender:PeerRole"
        return ContenderProcess(kind, name, threads, weights=self.weights, models=str(self.files))


def _prepare_peers(
    request: BenchmarkRequest,
    peers: Sequence[str],
    utterances: Sequence[Utterance],
    files: Path,
    progress: Progress,
) -> _Prepared:
    """Write the cases and PyTorch's results, and export as ONNX for the peers that need it."""
    names, threads = _Prepared(request, files, ""), max(request.threads)
    with names.contender(OURS, threads) as ours:
        for index, u in enumerate(utterances):
            path = names.case(index)
            ours.call("write_case", phonemes=u.phonemes, voice=u.voice, path=path)
    progress("loading the weights into PyTorch")
    artifact, weights = str(request.artifact), request.weights or ""
    kind = "benchmarks.peers.reference:ReferenceRole"
    with ContenderProcess(
        kind, "reference", threads, artifact=artifact, weights=weights
    ) as reference:
        prepared = _Prepared(request, files, reference.call("weights"))
        for index in range(len(utterances)):
            progress(f"PyTorch's answers, {index + 1} of {len(utterances)}")
            reference.call("answer", case=prepared.case(index), output=prepared.reference(index))
        if set(peers) & set(EXPORTED):
            progress("exporting the model as ONNX")
            reference.call("export", directory=str(files))
    return prepared


def _compare_at(
    prepared: _Prepared,
    peers: Sequence[str],
    utterances: Sequence[Utterance],
    threads: int,
    progress: Progress,
) -> tuple[list[PeerResult], dict[str, str]]:
    """The results of all contenders, ours first, and the versions of the peers."""
    request = prepared.request
    results: list[PeerResult] = []
    versions: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        contenders = {}
        for name in (OURS, *peers):
            progress(f"{threads} thread(s): starting {name}")
            contenders[name] = stack.enter_context(prepared.contender(name, threads))
            versions |= contenders[name].call("versions")
        for index, utterance in enumerate(utterances):
            agreements = {
                name: _prepare_contender(name, process, prepared, index, progress)
                for name, process in contenders.items()
            }
            progress(f"{threads} thread(s): {utterance.seconds:.2f} s of audio, all in turns")
            calls = {
                name: functools.partial(process.call, "run") for name, process in contenders.items()
            }
            rounds = interleave(calls, request.repeats, warm_up=request.warm_up, pause=PEER_PAUSE)
            results += [
                _peer_result(
                    name,
                    utterance,
                    threads,
                    rounds,
                    contenders[name].call("memory").peak,
                    agreements[name],
                )
                for name in contenders
            ]
    return results, versions


def _prepare_contender(
    name: str, process: ContenderProcess, prepared: _Prepared, index: int, progress: Progress
) -> tuple[Agreement, ...]:
    """Pass a contender its case, and compare its results with PyTorch's."""
    progress(f"preparing and verifying {name}")
    process.call("prepare", path=prepared.case(index))
    try:
        found: list[Agreement] = process.call("verify", reference=prepared.reference(index))
    except CheckFailed as error:
        raise CheckFailed(f"{name} is not timed: {error}") from error
    return tuple(found)


def _peer_result(
    name: str,
    utterance: Utterance,
    threads: int,
    rounds: Mapping[str, Sequence[Sample]],
    peak_memory: int,
    agreement: tuple[Agreement, ...],
) -> PeerResult:
    samples = rounds[name]
    seconds = [sample.seconds for sample in samples]
    total: Summary = summarize(seconds)
    return PeerResult(
        name=name,
        utterance=utterance,
        threads=threads,
        total=total,
        cpu=summarize([sample.cpu_seconds for sample in samples]),
        ratio=median_ratio([sample.seconds for sample in rounds[OURS]], seconds),
        steps=median_steps(samples),
        peak_memory=peak_memory,
        agreement=agreement,
    )


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios ours / theirs of each round.

    The values of a round are measured within seconds, so they are affected by the state of the
    machine in the same way; a ratio of medians would mix rounds.
    """
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def _peers(results: Sequence[PeerResult]) -> str:
    head = (
        "runtime",
        "audio",
        "threads",
        "RTF",
        "total ms",
        "CPU ms",
        "ours / its time",
        "we are faster by",
        "peak memory MB",
        "worst error",
        "audio SNR dB",
    )
    return markdown_table(
        head,
        (
            (
                r.name,
                f"{r.utterance.seconds:.2f} s",
                str(r.threads),
                f"{r.rtf:.3f}",
                format_spread(r.total),
                f"{1000 * r.cpu.median:.0f}",
                "" if r.name == OURS else f"{r.ratio:.3f}",
                "" if r.name == OURS else f"{1 / r.ratio:.2f}×",
                format_megabytes(r.peak_memory),
                f"{r.worst_error:.0e}",
                format_number(r.audio_snr_db, ".0f"),
            )
            for r in results
        ),
    )


def _peer_steps(results: Sequence[PeerResult]) -> str:
    groups: dict[tuple[float, int], list[PeerResult]] = {}
    for result in results:
        groups.setdefault((result.utterance.seconds, result.threads), []).append(result)
    tables = []
    for (seconds, threads), group in groups.items():
        head = (f"{seconds:.2f} s, {format_threads(threads)}", *(r.name for r in group))
        rows = ((step, *(f"{1000 * r.steps[step]:.1f}" for r in group)) for step in group[0].steps)
        tables.append(markdown_table(head, rows))
    return "\n\n".join(tables)
