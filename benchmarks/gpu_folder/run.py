"""The program of the benchmark folder: check parity, then compare times with plain PyTorch."""

from __future__ import annotations

import argparse
import contextlib
import json
import platform
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.peers.chunk_inputs import Case
from kokoro_pipeline.artifact.manifest import PARAMETERS_NAME
from kokoro_pipeline.artifact.reader import check_hash, open_artifact, read_artifact
from kokoro_pipeline.benchmarking.lengths import phonemes_lasting
from kokoro_pipeline.benchmarking.machine import installed_versions
from kokoro_pipeline.benchmarking.samples import Summary, interleave, summarize
from kokoro_pipeline.config import default_config
from kokoro_pipeline.errors import CheckFailed, EnvironmentFault, InputError, KokoroError
from kokoro_pipeline.runtime.engine.device import find_device, parse_device
from kokoro_pipeline.runtime.speech.chunk import predict_timing
from kokoro_pipeline.runtime.speech.noise import draw_noise
from kokoro_pipeline.runtime.speech.synthesizer import Synthesizer, load
from kokoro_pipeline.runtime.text.vocabulary import Vocabulary
from kokoro_pipeline.runtime.voices import load_voice, style_row
from kokoro_pipeline.validation.case_reference import CaseReference
from kokoro_pipeline.validation.validation_report import ValidationReport

from .contenders import PEERS, SEED, Contender, Ours, Plain, settings
from .plain_model import PlainKokoro, load_plain
from .references import compare, load_references
from .regenerate import Recipe, regenerate

Array = NDArray[Any]

ARTIFACT, RECIPE_FOLDER, REFERENCES = "artifact", "recipe", "references"
VOICE = "af_heart"
PLAIN_ERROR = 1e-3
"""Largest error allowed for plain PyTorch in any step, relative to the peak of float64."""


@dataclass(frozen=True)
class Speed:
    """The result of a contender for one case, with `batch` rows."""

    contender: str
    tokens: int
    audio_seconds: float
    """Length of the audio of all rows."""
    batch: int
    time: Summary
    """Seconds from the call until the audio is on the host."""

    @property
    def rtf(self) -> float:
        """Real-time factor: time / audio length."""
        return self.time.median / self.audio_seconds


@dataclass(frozen=True)
class Refusal:
    """A contender that is not timed, and the reason."""

    contender: str
    tokens: int
    """The number of tokens of the case; 0 for all cases."""
    batch: int
    reason: str


def main(folder: Path, arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark of the folder; returns the exit code."""
    parser = argparse.ArgumentParser(prog="run.py", description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda:N; as the library's")
    parser.add_argument("--seconds", default="1,4,10", help="lengths of audio")
    parser.add_argument("--contenders", default=None, help=f"of {', '.join(PEERS)}; default all")
    parser.add_argument("--batches", default="1,4,16", help="rows at once, for throughput")
    parser.add_argument("-r", "--repeats", type=int, default=11)
    parser.add_argument("--parity-only", action="store_true", help="no times")
    parser.add_argument("--work", type=Path, help="where to write the parameters: default here")
    parser.add_argument("--json", type=Path, help="a file for every figure")
    options = parser.parse_args(arguments)
    try:
        print(_run(folder, options))
    except KokoroError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _run(folder: Path, options: argparse.Namespace) -> str:
    lengths = _numbers(options.seconds, float, "--seconds")
    batches = _numbers(options.batches, int, "--batches")
    target = read_artifact(folder / ARTIFACT).manifest.target
    device = find_device(options.device, target, "the folder's library")
    place = _torch_device(device.kind, parse_device(options.device)[1])
    peers = _peers(options.contenders, place)
    artifact = prepare(folder, options.work)
    references = load_references(folder / REFERENCES, artifact / "voices")
    with contextlib.ExitStack() as stack:
        tts = stack.enter_context(load(artifact, device=options.device))
        ours = {"ours": tts}
        reports = {"ours": _parity(tts, references)}
        refused: list[Refusal] = []
        if place.type == "cuda":
            try:
                graphs = stack.enter_context(load(artifact, device=options.device, graphs=True))
                reports["ours-graphs"] = _parity(graphs, references)
            except EnvironmentFault as error:
                refused.append(Refusal("ours-graphs", 0, 1, str(error)))
            else:
                if reports["ours-graphs"].passed:
                    ours["ours-graphs"] = graphs
        passed = all(report.passed for report in reports.values())
        about = _about(tts, place)
        parts = [_machine(about), *(f"{name}:\n{report}" for name, report in reports.items())]
        found: dict[str, Any] = {
            "machine": about,
            "parity": {name: report.to_json() for name, report in reports.items()},
        }
        if reports["ours"].passed and not options.parity_only:
            model = _plain(folder, place)
            worst = check_plain(model, references)
            parts.append(f"plain PyTorch: within {worst:.1e} of the peak in every step")
            cases = [_case(tts, seconds) for seconds in lengths]
            speeds = measure(ours, model, cases, peers, options.repeats, refused)
            through = throughput(ours, model, cases[-1], peers, batches, options.repeats, refused)
            found |= {
                "plain_error": worst,
                "speeds": [asdict(speed) | {"rtf": speed.rtf} for speed in speeds],
                "throughput": [asdict(speed) | {"rtf": speed.rtf} for speed in through],
            }
            parts += [speed_table(speeds), throughput_table(through)]
        if refused:
            found["refused"] = [asdict(refusal) for refusal in refused]
            parts.append(refusal_list(refused))
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1), "utf-8")
    text = "\n\n".join(parts)
    if not passed:
        missing = ", ".join(name for name, report in reports.items() if not report.passed)
        raise CheckFailed(f"a tolerance is missed by {missing}, which was not timed:\n{text}")
    return text


def prepare(folder: Path, work: Path | None) -> Path:
    """The folder of the artifact, with its parameters, which are created if missing.

    Raises ArtifactError if they are not bit-identical.
    """
    artifact = folder / ARTIFACT
    if work is not None:
        artifact = work / ARTIFACT
        shutil.copytree(folder / ARTIFACT, artifact, dirs_exist_ok=True)
    found = read_artifact(artifact)
    if found.parameters_file.exists():
        check_hash(found, PARAMETERS_NAME)
    else:
        say("drawing the weights and laying out the parameters")
        regenerate(folder / RECIPE_FOLDER, found.manifest, found.parameters_file)
    open_artifact(artifact)
    return artifact


def say(text: str) -> None:
    """Print progress to standard error."""
    print(text, file=sys.stderr, flush=True)


def _numbers(text: str, kind: Callable[[str], Any], option: str) -> list[Any]:
    try:
        values = [kind(word) for word in text.split(",")]
    except ValueError:
        values = []
    if not values or min(values) <= 0:
        raise InputError(f"{option} {text!r}: expected positive numbers such as 1,4")
    return values


def _torch_device(kind: str, index: int) -> torch.device:
    if kind == "cpu":
        return torch.device("cpu")
    if kind != "cuda" or not torch.cuda.is_available():
        raise EnvironmentFault(
            f"the library is for {kind}, and PyTorch {torch.__version__} sees no CUDA GPU: run "
            "this where torch.cuda.is_available(), or make a folder with --target llvm"
        )
    return torch.device("cuda", index)


def _peers(wanted: str | None, place: torch.device) -> list[str]:
    if wanted is None:
        return [name for name in PEERS if place.type == "cuda" or not name.startswith("graphs")]
    names = [name for name in wanted.split(",") if name]
    for name in names:
        if name not in PEERS:
            raise InputError(f"unknown contender {name!r}: the known are {', '.join(PEERS)}")
        if name.startswith("graphs") and place.type != "cuda":
            raise InputError(f"{name} needs a CUDA device, and this runs on {place}")
    return names


def _parity(tts: Synthesizer, references: list[CaseReference]) -> ValidationReport:
    say("comparing with float64")
    weights = tts.manifest.weights
    # If graphs are enabled, they are used from the third run on.
    for _ in range(3 if tts.graphs else 1):
        report = compare(
            tts.functions,
            references,
            artifact=str(tts.path),
            opt_level=tts.manifest.opt_level,
            precision=tts.manifest.target.precision,
            weights={"source": weights.source, "sha256": weights.sha256},
            versions=_versions(),
        )
    return report


def _plain(folder: Path, place: torch.device) -> PlainKokoro:
    tensors = Recipe(folder / RECIPE_FOLDER).tensors
    state = {name: torch.from_numpy(tensors[name]) for name in tensors.names}
    return load_plain(default_config().raw, state).to(place)


def check_plain(model: PlainKokoro, references: list[CaseReference]) -> float:
    """The largest error of the plain model against float64 over all steps, relative to the peak.

    The source is excluded, since its phases are inaccurate in float32. Raises CheckFailed if the
    error is larger than PLAIN_ERROR, because the model would not be the same.
    """
    place = next(model.parameters()).device

    def put(array: Array) -> Tensor:
        ready = torch.from_numpy(np.ascontiguousarray(array)).to(place)
        return ready.float() if ready.is_floating_point() else ready

    worst = 0.0
    for reference in references:
        arrays, inputs = reference.arrays, reference.inputs
        ids, style = put(inputs.input_ids), put(inputs.style)
        predictor, decoder = put(inputs.predictor_style), put(inputs.decoder_style)
        with settings(tf32=False):
            frames, d = model.timing(ids, style)
            curves = model.predictor.curves(put(reference.en).transpose(1, 2), predictor)
            audio = model.decoder(
                put(reference.asr), put(arrays.F0), put(arrays.N), decoder, put(reference.har)
            )
            answers = {
                "durations": (frames[0], arrays.lengths * inputs.case.speed),
                "d": (d, arrays.d),
                "t_en": (model.text_encoder(ids).transpose(1, 2), arrays.t_en),
                "F0": (curves[0], arrays.step_F0),
                "N": (curves[1], arrays.step_N),
                "audio": (audio, arrays.audio),
            }
        for name, (ours, expected) in answers.items():
            error = np.abs(ours.cpu().numpy() - expected).max() / np.abs(expected).max()
            if not error <= PLAIN_ERROR:  # true for NaN
                raise CheckFailed(
                    f"plain PyTorch computes another {name} for {inputs.case.name}: off by "
                    f"{error:.1e} of the peak, and {PLAIN_ERROR:g} is allowed"
                )
            worst = max(worst, float(error))
    return worst


def _case(tts: Synthesizer, seconds: float) -> Case:
    """A case of approximately this many seconds, with the frames that the artifact predicts."""

    def duration(phonemes: str) -> float:
        return float(tts.predict_durations(phonemes, VOICE).sum()) / 40

    phonemes = phonemes_lasting(seconds, duration)
    ids = Vocabulary(default_config().vocab).encode(phonemes).ids
    if len(phonemes) > 510:
        raise InputError(f"--seconds {seconds:g} takes more than one chunk of 510 phonemes")
    style = style_row(load_voice(VOICE, tts.path / "voices"), len(phonemes))
    timing = predict_timing(tts.functions, ids, style, 1.0)
    noise = draw_noise(tts.functions, SEED, 0, timing.total_frames)
    return Case(timing.input_ids, style, timing.frames, noise)


def measure(
    ours: Mapping[str, Synthesizer],
    model: PlainKokoro,
    cases: list[Case],
    peers: list[str],
    repeats: int,
    refused: list[Refusal],
) -> list[Speed]:
    """Measure every contender on every case with one row, in turns.

    Contenders that cannot run are added to `refused`.
    """
    speeds = []
    for case in cases:
        contenders: dict[str, Contender] = {name: Ours(tts, case) for name, tts in ours.items()}
        contenders |= _prepared(peers, model, case, 1, refused)
        speeds += _timed(contenders, case, 1, repeats)
    return speeds


def throughput(
    ours: Mapping[str, Synthesizer],
    model: PlainKokoro,
    case: Case,
    peers: list[str],
    batches: list[int],
    repeats: int,
    refused: list[Refusal],
) -> list[Speed]:
    """Measure ours row by row, and the peers with batches. `compile` is not run with batches."""
    speeds = _timed({name: Ours(tts, case) for name, tts in ours.items()}, case, 1, repeats)
    names = [name for name in peers if name != "compile"]
    for batch in batches:
        speeds += _timed(_prepared(names, model, case, batch, refused), case, batch, repeats)
    return speeds


def _prepared(
    names: list[str], model: PlainKokoro, case: Case, batch: int, refused: list[Refusal]
) -> dict[str, Contender]:
    """The peers that can run a case; the others are added to `refused`."""
    found: dict[str, Contender] = {}
    for name in names:
        say(f"{case.seconds:.1f} s of audio, {batch} rows: preparing {name}")
        try:
            contender = Plain(name, model, case, batch)
            check_audio(name, contender.speak(), case, batch)
        except Exception as error:  # noqa: BLE001 -- it is told, and the others are measured
            reason = f"{type(error).__name__}: {_first_line(error)}"
            refused.append(Refusal(name, case.input_ids.shape[1], batch, reason))
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
        else:
            found[name] = contender
    return found


def check_audio(name: str, audio: NDArray[np.float32], case: Case, batch: int) -> None:
    """Raise CheckFailed if the output of a contender is not valid audio for a case."""
    if audio.shape != (batch, 600 * case.total_frames) or not np.isfinite(audio).all():
        raise CheckFailed(f"{name} gave no audio of {batch} rows")


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), "no message")


def _timed(contenders: dict[str, Contender], case: Case, batch: int, repeats: int) -> list[Speed]:
    def timed(name: str, contender: Contender) -> Callable[[], float]:
        def call() -> float:
            start = time.perf_counter()
            audio = contender.speak()
            spent = time.perf_counter() - start
            check_audio(name, audio, case, batch)
            return spent

        return call

    if not contenders:
        return []
    calls = {name: timed(name, contender) for name, contender in contenders.items()}
    found = interleave(calls, repeats, warm_up=2)
    seconds, tokens = case.seconds * batch, case.input_ids.shape[1]
    return [
        Speed(name, tokens, seconds, batch, summarize(values)) for name, values in found.items()
    ]


def speed_table(speeds: list[Speed]) -> str:
    """A Markdown table with a row for each contender and length."""
    lines = [
        "| audio | tokens | contender | first audio, ms (best to worst) | RTF | ours / its |",
        "|---|---|---|---|---|---|",
    ]
    ours = {speed.audio_seconds: speed.time for speed in speeds if speed.contender == "ours"}
    for speed in speeds:
        values = zip(ours[speed.audio_seconds].values, speed.time.values, strict=True)
        ratio = statistics.median(a / b for a, b in values)
        time_ms = 1000 * speed.time.median
        spread = f"{1000 * speed.time.best:.1f} to {1000 * speed.time.worst:.1f}"
        lines.append(
            f"| {speed.audio_seconds:.2f} s | {speed.tokens} | {speed.contender} | "
            f"{time_ms:.1f} ({spread}) | {speed.rtf:.4f} | {ratio:.2f} |"
        )
    return "\n".join(lines)


def throughput_table(speeds: list[Speed]) -> str:
    """A Markdown table of seconds of audio per second."""
    lines = ["| contender | rows at once | seconds of audio a second |", "|---|---|---|"]
    for speed in speeds:
        ours = speed.contender.startswith("ours")
        rows = "one after another" if ours else str(speed.batch)
        lines.append(f"| {speed.contender} | {rows} | {1 / speed.rtf:.1f} |")
    return "\n".join(lines)


def refusal_list(refused: list[Refusal]) -> str:
    """A Markdown list of the contenders that are not timed, with reasons."""
    lines = ["Not timed:", ""]
    for each in refused:
        where = f" at {each.tokens} tokens, {each.batch} rows" if each.tokens else ""
        lines.append(f"- {each.contender}{where}: {each.reason}")
    return "\n".join(lines)


def _about(tts: Synthesizer, place: torch.device) -> dict[str, Any]:
    gpu = torch.cuda.get_device_name(place) if place.type == "cuda" else None
    return {
        "device": str(tts.device),
        "gpu": gpu,
        "cuda": torch.version.cuda,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": _versions(),
        "threads": tts.threads,
    }


def _versions() -> dict[str, str]:
    return installed_versions("torch", "numpy", "apache-tvm", "apache-tvm-ffi")


def _machine(about: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return f"{about['gpu'] or about['device']}; {about['system']}; {versions}"
