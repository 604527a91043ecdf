"""The complete benchmark: its processes, their order, and what they measure."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..artifact.manifest import PARAMETERS_NAME
from ..artifact.reader import Artifact, open_artifact
from ..errors import EnvironmentFault, InputError
from ..runtime.engine.device import find_device
from .benchmark_report import (
    BETWEEN,
    ArtifactFacts,
    BenchmarkReport,
    FreshResult,
    KernelTable,
    LongTextResult,
    PeerResults,
    SpeedResult,
    Utterance,
)
from .checkout import comparison
from .cold_start import run_fresh, summarize_fresh
from .kernels import KernelSpeed
from .lengths import LONG_TEXT, SENTENCE
from .machine import describe_machine
from .process import ContenderProcess
from .samples import Sample, interleave, summarize

Progress = Callable[[str], None]

KERNEL_SECONDS = 0.3
KERNEL_FRAMES = 160
OURS = "ours"
OUR_ROLE = "kokoro_pipeline.benchmarking.ours:OurRole"
KERNEL_ROLE = "kokoro_pipeline.benchmarking.kernels:KernelRole"


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
    if request.against and artifact.manifest.is_graph:
        raise InputError(
            f"{request.artifact} was built from an ONNX file, and peers are compared function by "
            "function: leave out --against, or build from a checkpoint"
        )
    comparing = comparison() if request.against else None
    peers = comparing.check_peers(request.against) if comparing is not None else ()
    machine = describe_machine()
    utterances, versions = _choose(request, progress)
    results: PeerResults | None = None
    if comparing is not None:
        # Before we are measured alone, so that what cannot be compared is refused early.
        results, theirs = comparing.compare(request, peers, utterances, progress)
        versions |= theirs
    speeds: list[SpeedResult] = []
    long_texts: list[LongTextResult] = []
    fresh: list[FreshResult] = []
    for threads in request.threads:
        speeds += _measure_speed(request, utterances, threads, progress)
        long_texts += _measure_long_text(request, threads, progress)
        fresh += _measure_fresh(request, utterances, threads, progress)
    return BenchmarkReport(
        describe_artifact(artifact),
        machine,
        versions,
        request.repeats,
        request.warm_up,
        speeds=tuple(speeds),
        long_texts=tuple(long_texts),
        fresh=tuple(fresh),
        peers=results,
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
        mcpu, frames = artifact.manifest.target.mcpu, str(KERNEL_FRAMES)
        with ContenderProcess(KERNEL_ROLE, "kernels", threads, mcpu=mcpu, frames=frames) as process:
            about = process.call("describe")
            versions |= about["versions"]
            speeds: list[KernelSpeed] = []
            for name in process.call("names"):
                progress(f"{threads} thread(s): {name}")
                speeds.append(process.call("measure", name=name, seconds=KERNEL_SECONDS))
            lanes, measured = about["lanes"], tuple(speeds)
            tables.append(KernelTable(threads, about["mcpu"], lanes, KERNEL_FRAMES, measured))
    facts = describe_artifact(artifact)
    return BenchmarkReport(
        facts, machine, versions, request.repeats, request.warm_up, kernels=tuple(tables)
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


def our_process(request: BenchmarkRequest, threads: int, kind: str = OUR_ROLE) -> ContenderProcess:
    """A process with the artifact; `kind` as in `ContenderProcess`."""
    artifact, device = str(request.artifact), request.device
    return ContenderProcess(kind, OURS, threads, artifact=artifact, device=device)


def _choose(
    request: BenchmarkRequest, progress: Progress
) -> tuple[list[Utterance], dict[str, str]]:
    """The utterances in order of length, and our versions."""
    utterances = []
    with our_process(request, max(request.threads)) as ours:
        versions: dict[str, str] = ours.call("versions")
        chosen = [request.phonemes]
        if request.phonemes is None:
            progress("choosing phonemes for the lengths")
            chosen = [
                ours.call("phonemes_lasting", seconds=seconds, voice=request.voice)
                for seconds in request.seconds
            ]
        for phonemes in dict.fromkeys(chosen):
            utterances.append(ours.call("measured", phonemes=phonemes, voice=request.voice))
    return sorted(utterances, key=lambda utterance: utterance.seconds), versions


def _measure_speed(
    request: BenchmarkRequest, utterances: Sequence[Utterance], threads: int, progress: Progress
) -> list[SpeedResult]:
    """Measure all utterances in turns.

    Each call then follows one of another length, as in real use, so that buffers of the previous
    length have to be replaced.
    """
    progress(f"{threads} thread(s): {len(utterances)} utterance(s) in turns")
    with our_process(request, threads) as ours:
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
        spoken = rounds[f"speak {index}"]
        seconds = [sample.seconds for sample in spoken]
        results.append(
            SpeedResult(
                utterance,
                threads,
                total=summarize(seconds),
                cpu=summarize([sample.cpu_seconds for sample in spoken]),
                first_audio=summarize(rounds.get(f"first_audio {index}", seconds)),
                steps=median_steps(rounds[f"steps {index}"]),
            )
        )
    return results


def _measure_long_text(
    request: BenchmarkRequest, threads: int, progress: Progress
) -> list[LongTextResult]:
    progress(f"{threads} thread(s): first audio of a long text")
    with our_process(request, threads) as ours:
        calls = {
            text: functools.partial(ours.call, "first_of_text", text=text, voice=request.voice)
            for text in (LONG_TEXT, SENTENCE)
        }
        try:
            rounds = interleave(calls, request.repeats, warm_up=request.warm_up)
        except EnvironmentFault as error:  # without the extra `text`, phonemes can be measured
            progress(f"not measured: {error}")
            return []
    return [LongTextResult(threads, summarize(rounds[LONG_TEXT]), summarize(rounds[SENTENCE]))]


def _measure_fresh(
    request: BenchmarkRequest, utterances: Sequence[Utterance], threads: int, progress: Progress
) -> list[FreshResult]:
    progress(f"{threads} thread(s): fresh processes")
    artifact, device = request.artifact, request.device
    calls = {
        str(i): functools.partial(run_fresh, artifact, u.phonemes, u.voice, threads, device)
        for i, u in enumerate(utterances)
    }
    rounds = interleave(calls, request.repeats, warm_up=request.warm_up)
    return [
        FreshResult(utterance, threads, summarize_fresh(rounds[str(i)]))
        for i, utterance in enumerate(utterances)
    ]


def median_steps(samples: Sequence[Sample]) -> dict[str, float]:
    """The median time of each step, followed by that between the steps."""
    steps = {
        name: statistics.median(sample.steps[name] for sample in samples)
        for name in samples[0].steps
    }
    between = statistics.median(s.seconds - sum(s.steps.values()) for s in samples)
    return {**steps, BETWEEN: between}
