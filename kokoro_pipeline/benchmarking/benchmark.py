"""The complete benchmark: its processes, their order, and what they measure."""

from __future__ import annotations

import contextlib
import functools
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..artifact.manifest import PARAMETERS_NAME
from ..artifact.reader import Artifact, open_artifact
from ..config import MAX_PHONEMES
from ..errors import CheckFailed, InputError
from ..runtime.engine.device import find_device
from .benchmark_report import (
    BETWEEN,
    ArtifactFacts,
    BenchmarkReport,
    FreshResult,
    KernelTable,
    PeerResult,
    SpeedResult,
    Utterance,
)
from .cold_start import run_fresh, summarize_fresh
from .kernels import KernelSpeed
from .machine import describe_machine
from .peer_names import EXPORTED, check_peers
from .process import ContenderProcess
from .samples import Sample, Summary, interleave, median_ratio, summarize
from .tables import OURS
from .verification import Agreement

Progress = Callable[[str], None]

KERNEL_SECONDS = 0.3
KERNEL_FRAMES = 160
PEER_PAUSE = 0.1
"""Pause in seconds between the turns of two runtimes."""


@dataclass(frozen=True)
class BenchmarkRequest:
    """What to measure: either `phonemes`, or a passage of approximately each of the lengths."""

    artifact: Path
    seconds: tuple[float, ...] = (1.0, 4.0, 10.0)
    phonemes: str | None = None
    voice: str = "af_heart"
    threads: tuple[int, ...] = (1,)
    repeats: int = 5
    warm_up: int = 1
    against: tuple[str, ...] = ()
    weights: str | None = None
    """The weights of peers, as for `build`; None for those that the artifact was built from."""
    device: str = "auto"
    """The device to run the artifact on, as for `load`."""


def run_benchmark(request: BenchmarkRequest, progress: Progress) -> BenchmarkReport:
    """Measure speed, memory and start-up time, and peers if any are named.

    Invalid requests are rejected before anything is measured. Raises InputError for invalid
    lengths, voices, weights and peers, ArtifactError for an artifact that cannot be opened,
    EnvironmentFault for missing packages and failures, and CheckFailed for a contender whose
    results differ from PyTorch's.
    """
    artifact = open_artifact(request.artifact)
    find_device(request.device, artifact.manifest.target, str(request.artifact))
    peers = check_peers(request.against)
    machine = describe_machine()
    with contextlib.ExitStack() as stack:
        files = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kokoro-benchmark-")))
        utterances, versions = _choose(request, bool(peers), files, progress)
        prepared = _Prepared(request, files, "")
        if peers:
            prepared = _prepare_peers(request, peers, len(utterances), files, progress)
        speeds: list[SpeedResult] = []
        fresh: list[FreshResult] = []
        results: list[PeerResult] = []
        for threads in request.threads:
            speeds += _measure_speed(request, utterances, threads, progress)
            fresh += _measure_fresh(request, utterances, threads, progress)
            if peers:
                found, theirs = _compare(prepared, peers, utterances, threads, progress)
                results += found
                versions |= theirs
    return BenchmarkReport(
        artifact=describe_artifact(artifact),
        machine=machine,
        versions=versions,
        repeats=request.repeats,
        warm_up=request.warm_up,
        speeds=tuple(speeds),
        fresh=tuple(fresh),
        peers=tuple(results),
    )


def run_kernels(request: BenchmarkRequest, progress: Progress) -> BenchmarkReport:
    """Measure the kernels, compiled for the CPU of the artifact.

    Raises the errors of `run_benchmark`.
    """
    artifact = open_artifact(request.artifact)
    machine = describe_machine()
    tables = []
    versions: dict[str, str] = {}
    for threads in request.threads:
        progress("compiling the kernels")
        with ContenderProcess(
            "kernels",
            threads,
            mcpu=artifact.manifest.target.mcpu,
            frames=str(KERNEL_FRAMES),
        ) as process:
            about = process.call("describe")
            versions |= about["versions"]
            speeds = []
            for name in process.call("names"):
                progress(f"{threads} thread(s): {name}")
                found = process.call("measure", name=name, seconds=KERNEL_SECONDS)
                speeds.append(KernelSpeed(**found))
            table = KernelTable(
                threads, about["mcpu"], about["lanes"], KERNEL_FRAMES, tuple(speeds)
            )
            tables.append(table)
    return BenchmarkReport(
        artifact=describe_artifact(artifact),
        machine=machine,
        versions=versions,
        repeats=request.repeats,
        warm_up=request.warm_up,
        kernels=tuple(tables),
    )


def describe_artifact(artifact: Artifact) -> ArtifactFacts:
    """The facts of an opened artifact."""
    manifest = artifact.manifest
    return ArtifactFacts(
        path=str(artifact.path),
        weights=manifest.weights,
        mcpu=manifest.target.mcpu,
        opt_level=manifest.opt_level,
        library_bytes=manifest.files[artifact.library.name].size,
        parameter_bytes=manifest.files[PARAMETERS_NAME].size,
        parameters_of={
            name: sum(parameter.size for parameter in function.parameters)
            for name, function in manifest.functions.items()
        },
    )


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
            return ContenderProcess(
                OURS, threads, artifact=str(self.request.artifact), device=self.request.device
            )
        return ContenderProcess(name, threads, weights=self.weights, models=str(self.files))


def _choose(
    request: BenchmarkRequest, compare: bool, files: Path, progress: Progress
) -> tuple[list[Utterance], dict[str, str]]:
    """The utterances in order of length, whose cases are written, and our versions."""
    names = _Prepared(request, files, "")
    utterances = []
    with names.contender(OURS, max(request.threads)) as ours:
        versions: dict[str, str] = ours.call("versions")
        if request.phonemes is not None:
            chosen = [request.phonemes]
        else:
            progress("choosing phonemes for the lengths")
            chosen = [
                ours.call("phonemes_lasting", seconds=seconds, voice=request.voice)
                for seconds in request.seconds
            ]
        for phonemes in dict.fromkeys(chosen):
            size = ours.call("size", phonemes=phonemes, voice=request.voice)
            utterances.append(Utterance(phonemes, request.voice, **size))
        utterances.sort(key=lambda utterance: utterance.seconds)
        too_long = [u for u in utterances if u.chunks > 1]
        if compare and too_long:
            raise InputError(
                f"peers speak one chunk of at most {MAX_PHONEMES} phonemes, and "
                f"{too_long[0].seconds:.0f} s of audio have {len(too_long[0].phonemes)}: "
                "compare at shorter lengths with --seconds"
            )
        for index, utterance in enumerate(utterances if compare else ()):
            ours.call(
                "write_case",
                phonemes=utterance.phonemes,
                voice=utterance.voice,
                path=names.case(index),
            )
    return utterances, versions


def _prepare_peers(
    request: BenchmarkRequest, peers: Sequence[str], cases: int, files: Path, progress: Progress
) -> _Prepared:
    """Compute PyTorch's results, and export the model as ONNX for the peers that need it."""
    progress("loading the weights into PyTorch")
    artifact, weights = str(request.artifact), request.weights or ""
    with ContenderProcess(
        "reference", max(request.threads), artifact=artifact, weights=weights
    ) as reference:
        prepared = _Prepared(request, files, reference.call("weights"))
        for index in range(cases):
            progress(f"PyTorch's answers, {index + 1} of {cases}")
            reference.call("answer", case=prepared.case(index), output=prepared.reference(index))
        if set(peers) & set(EXPORTED):
            progress("exporting the model as ONNX")
            reference.call("export", directory=str(files))
    return prepared


def _measure_speed(
    request: BenchmarkRequest, utterances: Sequence[Utterance], threads: int, progress: Progress
) -> list[SpeedResult]:
    """Measure all utterances in turns.

    Each call then follows one of another length, as in real use, so that buffers of the previous
    length have to be replaced.
    """
    progress(f"{threads} thread(s): {len(utterances)} utterance(s) in turns")
    with ContenderProcess(
        OURS, threads, artifact=str(request.artifact), device=request.device
    ) as ours:
        calls = {
            f"{method} {index}": functools.partial(
                ours.call, method, phonemes=utterance.phonemes, voice=utterance.voice
            )
            for method in ("speak", "steps", "first_audio")
            for index, utterance in enumerate(utterances)
            # With a single chunk, the first audio is the whole audio.
            if method != "first_audio" or utterance.chunks > 1
        }
        rounds = interleave(calls, request.repeats, warm_up=request.warm_up)
    results = []
    for index, utterance in enumerate(utterances):
        spoken = [Sample(**answer) for answer in rounds[f"speak {index}"]]
        stepped = [Sample(**answer) for answer in rounds[f"steps {index}"]]
        seconds = [sample.seconds for sample in spoken]
        results.append(
            SpeedResult(
                utterance=utterance,
                threads=threads,
                total=summarize(seconds),
                cpu=summarize([sample.cpu_seconds for sample in spoken]),
                first_audio=summarize(rounds.get(f"first_audio {index}", seconds)),
                steps=_median_steps(stepped),
            )
        )
    return results


def _measure_fresh(
    request: BenchmarkRequest, utterances: Sequence[Utterance], threads: int, progress: Progress
) -> list[FreshResult]:
    def run(utterance: Utterance) -> dict[str, Any]:
        return run_fresh(
            request.artifact, utterance.phonemes, utterance.voice, threads, request.device
        )

    progress(f"{threads} thread(s): fresh processes")
    calls = {str(i): functools.partial(run, u) for i, u in enumerate(utterances)}
    rounds = interleave(calls, request.repeats, warm_up=request.warm_up)
    return [
        FreshResult(utterance, threads, summarize_fresh(rounds[str(i)]))
        for i, utterance in enumerate(utterances)
    ]


def _compare(
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
            answers = interleave(calls, request.repeats, warm_up=request.warm_up, pause=PEER_PAUSE)
            rounds = {
                name: [Sample(**answer) for answer in values] for name, values in answers.items()
            }
            results += [
                _peer_result(
                    name,
                    utterance,
                    threads,
                    rounds,
                    contenders[name].call("memory")["peak"],
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
        found = process.call("verify", reference=prepared.reference(index))
    except CheckFailed as error:
        raise CheckFailed(f"{name} is not timed: {error}") from error
    return tuple(Agreement(**agreement) for agreement in found)


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
        steps=_median_steps(samples),
        peak_memory=peak_memory,
        agreement=agreement,
    )


def _median_steps(samples: Sequence[Sample]) -> dict[str, float]:
    """The median time of each step, followed by that between the steps."""
    steps = {
        name: statistics.median(sample.steps[name] for sample in samples)
        for name in samples[0].steps
    }
    between = statistics.median(s.seconds - sum(s.steps.values()) for s in samples)
    return {**steps, BETWEEN: between}
