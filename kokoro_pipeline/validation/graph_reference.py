"""The two functions of an ONNX file's graph against ONNX Runtime, which runs the whole graph.

There is no float64 of an ONNX graph to measure from. A file that accumulates the phases of the
harmonic source in float32 amplifies any rounding error: moving the style by a unit in the last
place moves the audio of ONNX Runtime itself by up to a fifth. So the limit of a distance to ONNX
Runtime is how far that moves its own audio, and what lies below that is not proved.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..artifact.manifest import GRAPH_DURATIONS, GRAPH_SPEECH
from ..config import BOUNDARY_TOKEN, SAMPLES_PER_FRAME, ModelConfig
from ..errors import EnvironmentFault, InputError
from .cases import Case, resolve_voices
from .gates import Measurement, judge_failed, root_mean_square
from .validation_report import CaseResult, ValidationReport

if TYPE_CHECKING:
    from ..compiler.onnx_file.opening import OnnxFile

Progress = Callable[[str], None]
Array = NDArray[Any]

NUDGE = 2.0**-20
"""The relative change of the style that moves ONNX Runtime's own audio: 8 units of float32."""
RATIO = 3.0
"""The distance to ONNX Runtime, relative to how far the change moves its own audio."""
FLOOR = 1e-3
"""A distance, relative to the audio's root mean square, that always passes."""
NOT_PROVED = (
    "compared with ONNX Runtime in float32, and not with PyTorch in float64: an ONNX file has no "
    "other reference, and what its own rounding hides is not proved"
)
_WINDOW, _HOP = 1024, 256


class GraphReference:
    """ONNX Runtime on the whole graph of a file, with the noise as an input."""

    def __init__(self, file: OnnxFile) -> None:
        """Load the file. Raises EnvironmentFault without onnxruntime, InputError as `load`."""
        runtime = onnx_runtime()
        from ..compiler.onnx_file.graph import with_noise

        model = file.load()
        self._names, self._noise = with_noise(model, str(file.path))
        options = runtime.SessionOptions()
        options.log_severity_level = 4  # an error is raised
        self._session = runtime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def audio(self, input_ids: Array, style: Array, speed: Array, noise: Array) -> Array:
        """The audio, float32 [samples]. Raises InputError if the noise has another length."""
        names = self._names
        given = {
            names.tokens: input_ids,
            names.style: style,
            names.speed: speed,
            self._noise: noise,
        }
        try:
            (audio,) = self._session.run([names.audio], given)
        except Exception as error:  # its own exceptions have no common base
            raise InputError(f"ONNX Runtime does not run the graph: {error}") from error
        return np.asarray(audio).ravel()


def onnx_runtime() -> Any:
    """The module onnxruntime. Raises EnvironmentFault if it cannot be imported."""
    try:
        import onnxruntime
    except ImportError as error:
        raise EnvironmentFault(
            f"a graph of an ONNX file is compared with ONNX Runtime, which this Python cannot "
            f"import ({error}): pip install onnxruntime"
        ) from error
    return onnxruntime


def compare_graph(
    functions: Mapping[str, Any],
    file: OnnxFile,
    config: ModelConfig,
    voices: Mapping[str, Array],
    cases: Sequence[Case],
    *,
    artifact: str,
    opt_level: int,
    progress: Progress | None = None,
) -> ValidationReport:
    """Compare both functions of an artifact with ONNX Runtime, on `voices` by name.

    Without voices, the style is drawn. Raises the errors of `GraphReference`.
    """
    reference = GraphReference(file)
    tell = progress or (lambda _text: None)
    cases = resolve_voices(cases, list(voices) or ["drawn"])
    measurements: list[Measurement] = []
    results: list[CaseResult] = []
    for number, case in enumerate(cases, 1):
        ids = [config.vocab[symbol] for symbol in case.phonemes if symbol in config.vocab]
        if not ids:
            continue
        measured, result = _compare(functions, reference, case, ids, voices.get(case.voice))
        measurements += measured
        results.append(result)
        tell(
            f"[{number}/{len(cases)}] {case.name}: "
            f"{'ok' if all(m.passed for m in measured) else 'FAILED'}"
        )
    return ValidationReport(
        artifact=artifact,
        weights={"source": file.info.source, "sha256": file.info.sha256},
        opt_level=opt_level,
        versions={"onnxruntime": onnx_runtime().__version__},
        cases=tuple(results),
        measurements=tuple(measurements),
        whole=None,
        notes=(NOT_PROVED,),
    )


def _compare(
    functions: Mapping[str, Any],
    reference: GraphReference,
    case: Case,
    ids: list[int],
    pack: Array | None,
) -> tuple[list[Measurement], CaseResult]:
    input_ids = np.array([[BOUNDARY_TOKEN, *ids, BOUNDARY_TOKEN]], np.int64)
    draw = np.random.default_rng(0)
    style = (
        (draw.standard_normal((1, 256)) * 0.1).astype(np.float32)
        if pack is None
        else pack[len(ids) - 1]
    )
    wanted = functions[GRAPH_DURATIONS].spec.inputs[2]
    speed = np.full([1] * len(wanted.shape), case.speed, wanted.dtype)
    if speed.dtype.kind == "i":
        speed = np.maximum(speed, 1)
    started = time.perf_counter()
    durations = functions[GRAPH_DURATIONS](input_ids, style, speed)
    frames = int(durations.sum())
    noise = draw.standard_normal((1, SAMPLES_PER_FRAME * frames, 9)).astype(np.float32)
    tokens = np.repeat(np.arange(len(durations)), durations)
    ours = functions[GRAPH_SPEECH](input_ids, style, tokens, noise)
    computed = time.perf_counter()
    seconds = len(ours) / 24_000
    try:
        theirs = reference.audio(input_ids, style, speed, noise)
        moved = _moved(reference, input_ids, style, speed, noise, theirs)
    except InputError as error:
        # The graph adds noise of this length to its own source, whose length durations decide.
        failed = judge_failed(case.name, GRAPH_DURATIONS, "durations", str(error)[:300])
        return [failed], _result(case, frames, seconds, None, 0.0, computed - started, 0.0)
    ended = time.perf_counter()
    measured = [_same_length(case, ours, theirs)]
    for quantity, of in (("audio", np.asarray), ("spectrum", _spectrum)):
        if ours.shape == theirs.shape:
            measured.append(_distance(case, quantity, of(ours), of(theirs), of(moved)))
    return measured, _result(
        case,
        frames,
        seconds,
        measured[1].rms_error if len(measured) > 1 else None,
        root_mean_square(moved.astype(np.float64) - theirs),
        computed - started,
        ended - computed,
    )


def _moved(
    reference: GraphReference,
    input_ids: Array,
    style: Array,
    speed: Array,
    noise: Array,
    audio: Array,
) -> Array:
    """ONNX Runtime's audio with the style moved, or `audio` if that changes a duration."""
    for factor in (1 + NUDGE, 1 - NUDGE):
        try:
            moved = reference.audio(input_ids, style * np.float32(factor), speed, noise)
        except InputError:  # the noise no longer fits
            continue
        if len(moved) == len(audio):
            return moved
    return audio


def _same_length(case: Case, ours: Array, theirs: Array) -> Measurement:
    """Judge the sum of the durations, which the length of the audio follows from."""
    off = abs(len(ours) - len(theirs)) / SAMPLES_PER_FRAME
    return Measurement(
        case.name,
        GRAPH_DURATIONS,
        "frames",
        off,
        0.0,
        None,
        None,
        len(theirs) / SAMPLES_PER_FRAME,
        off == 0,
    )


def _distance(case: Case, quantity: str, ours: Array, theirs: Array, moved: Array) -> Measurement:
    """Judge the root mean square of the distance by that of ONNX Runtime to itself."""
    error = ours.astype(np.float64) - theirs
    peak, largest = float(np.abs(theirs).max()), float(np.abs(error).max())
    own = root_mean_square(moved.astype(np.float64) - theirs)
    limit = RATIO * own + FLOOR * root_mean_square(theirs)
    rms = root_mean_square(error)
    return Measurement(
        case.name,
        GRAPH_SPEECH,
        quantity,
        largest,
        2 * peak,
        rms,
        limit,
        peak,
        passed=rms <= limit and largest <= 2 * peak,
        note=f"rms {rms:.2g}, and ONNX Runtime's own with the style moved by 2**-20 {own:.2g}",
    )


def _spectrum(audio: Array) -> Array:
    """Magnitudes of the short-time spectrum, float64 [windows, 513]."""
    padded = np.pad(audio, (_WINDOW, _WINDOW))
    windows = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::_HOP]
    return np.abs(np.fft.rfft(windows * np.hanning(_WINDOW), axis=1))


def _result(
    case: Case,
    frames: int,
    seconds: float,
    ours: float | None,
    own: float,
    compiled_time: float,
    reference_time: float,
) -> CaseResult:
    return CaseResult(
        name=case.name,
        phonemes=case.phonemes,
        voice=case.voice,
        speed=case.speed,
        tokens=case.tokens,
        frames=frames,
        seconds=seconds,
        rms_ours=ours,
        rms_float32=own,
        reference="computed",
        reference_time=reference_time,
        compiled_time=compiled_time,
    )


def open_file(path: str | Path, sha256: str) -> OnnxFile:
    """The ONNX file that an artifact was built from. Raises InputError if it is another one."""
    from ..compiler.onnx_file.opening import is_onnx, open_onnx

    if not is_onnx(path):
        raise InputError(
            f"the artifact was built from the ONNX file {path}, which is not there: name it with "
            "--weights FILE"
        )
    file = open_onnx(path)
    if file.info.sha256 != sha256:
        raise InputError(
            f"the artifact was built from an ONNX file of sha256 {sha256}, and {path} has "
            f"{file.info.sha256}: name the one it was built from with --weights FILE"
        )
    return file
