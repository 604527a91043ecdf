"""Compare the functions under test with the reference of a case, step by step and as a whole."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import ArtifactError
from ..normals import standard_normals
from ..runtime.speech.alignment import frames_per_token
from ..runtime.speech.binding import FUNCTIONS
from ..runtime.speech.chunk import predict_timing, render_audio
from ..runtime.speech.noise import NOISE, noise_key, noise_shape
from .case_reference import CaseReference, rounded
from .gates import (
    Measurement,
    is_reduced,
    judge_durations,
    judge_failed,
    judge_network,
    judge_signal,
    judge_source,
)
from .stock_spectrum import stock_har, stock_window
from .validation_report import WHOLE_STEP, CaseResult, WholeAudio, judge_whole

if TYPE_CHECKING:
    from ..runtime.engine.functions import CompiledFunction

Array = NDArray[Any]
Functions = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True)
class Comparison:
    """The figures of one case.

    `outputs` has every output of the functions by name (with the prefix `whole_` for those of the
    chain), for saving. `squared_ours` and `squared_float32` are the sums of the squared distances
    of the whole audio to float64; the former is None if a function is missing, and NaN if our audio
    is unusable.
    """

    measurements: tuple[Measurement, ...]
    outputs: dict[str, Array]
    squared_ours: float | None
    squared_float32: float
    compiled_time: float

    def without_outputs(self) -> Comparison:
        """A copy with the figures only."""
        return replace(self, outputs={})


class _Calls(Mapping[str, Callable[..., Any]]):
    """Wraps the functions to measure their time and to keep their latest outputs, as a tuple."""

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self.outputs: dict[str, tuple[Array, ...]] = {}
        self.time = 0.0

    def __getitem__(self, name: str) -> Callable[..., Any]:
        function = self._functions[name]

        def call(*inputs: Array) -> Any:
            start = time.perf_counter()
            result = function(*inputs)
            self.time += time.perf_counter() - start
            outputs = result if isinstance(result, tuple | list) else (result,)
            self.outputs[name] = tuple(np.asarray(output) for output in outputs)
            return result

        return call

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def outputs_of(self, name: str, *inputs: Array) -> tuple[Array, ...]:
        """Call a function and return its outputs."""
        self[name](*inputs)
        return self.outputs[name]


def compare_case(
    functions: Functions, reference: CaseReference, precision: str = "float32"
) -> Comparison:
    """Run every function on the inputs of the reference, and their chain if there are all six.

    `precision` is that of the decoder's products and determines how its audio is judged.
    Exceptions of functions are not caught, since a function that cannot run a case is not a matter
    of tolerances.
    """
    run = _Calls(functions)
    outputs: dict[str, Array] = {}
    measurements: list[Measurement] = []
    for name, step in _STEPS.items():
        if name in run:
            measurements += step(run, reference, outputs)
    if "audio" in outputs:
        measurements.append(_judge_audio(reference, outputs["audio"], precision))

    expected = reference.arrays.audio
    squared_ours = None
    if all(name in run for name in FUNCTIONS):
        squared_ours = float("nan")
        # An unusable output has already failed in its step, and cannot be passed on.
        if all(measured.usable for measured in measurements):
            measurements += _whole(run, reference, outputs)
        if "whole_audio" in outputs:
            squared_ours = _squared(outputs["whole_audio"], expected)
    return Comparison(
        measurements=tuple(measurements),
        outputs=outputs,
        squared_ours=squared_ours,
        squared_float32=_squared(reference.arrays.audio_float32, expected),
        compiled_time=run.time,
    )


def case_result(
    reference: CaseReference, comparison: Comparison, origin: str, seconds: float
) -> CaseResult:
    """The result of a case for the report, with the origin of its reference and the time for it."""
    case, samples = reference.inputs.case, reference.arrays.audio.size
    ours = comparison.squared_ours
    return CaseResult(
        name=case.name,
        phonemes=case.phonemes,
        voice=case.voice,
        speed=case.speed,
        tokens=case.tokens,
        frames=reference.frames,
        seconds=reference.seconds,
        rms_ours=None if ours is None else (ours / samples) ** 0.5,
        rms_float32=(comparison.squared_float32 / samples) ** 0.5,
        reference=origin,
        reference_time=seconds,
        compiled_time=comparison.compiled_time,
    )


def whole_audio(comparisons: Sequence[Comparison], seconds: float) -> WholeAudio | None:
    """The verdict over all cases, `seconds` of audio, or None if a function is missing."""
    squared = [c.squared_ours for c in comparisons if c.squared_ours is not None]
    if not squared or len(squared) != len(comparisons):
        return None
    return judge_whole(squared, [c.squared_float32 for c in comparisons], seconds)


def _squared(audio: Array, expected: Array) -> float:
    return float(np.square(audio.astype(np.float64) - expected).sum())


Judged = list[Measurement]


def _bert(run: _Calls, reference: CaseReference, outputs: dict[str, Array]) -> Judged:
    step, inputs = "bert_forward", reference.inputs
    (d_en,) = run.outputs_of(step, inputs.input_ids, inputs.lengths)
    outputs["d_en"] = d_en
    return [judge_network(inputs.case.name, step, "d_en", d_en, reference.arrays.d_en)]


def _duration(run: _Calls, reference: CaseReference, outputs: dict[str, Array]) -> Judged:
    step, inputs, arrays = "duration_forward", reference.inputs, reference.arrays
    case = inputs.case
    duration, d = run.outputs_of(step, rounded(arrays.d_en), inputs.predictor_style, inputs.lengths)
    outputs.update(duration=duration, d=d)
    judged = [
        judge_network(case.name, step, "duration", duration, arrays.step_duration),
        judge_network(case.name, step, "d", d, arrays.step_d),
    ]
    if judged[0].usable:
        lengths = arrays.step_duration[0].sum(-1) / case.speed
        frames = frames_per_token(duration, case.speed)
        judged.append(judge_durations(case.name, step, frames, lengths))
    return judged


def _noise(run: _Calls, reference: CaseReference, outputs: dict[str, Array]) -> Judged:
    """Compare the first and last values of the drawn noise with its definition.

    Each value depends on the key and on its own position alone.
    """
    case, frames = reference.inputs.case, reference.frames
    key = noise_key(int(case.digest[:12], 16), 0)
    (noise,) = run.outputs_of(NOISE, np.zeros(frames, np.int64), key)
    outputs["noise"] = noise
    shape = noise_shape(frames)
    if noise.shape != shape:
        return [judge_network(case.name, NOISE, "noise", noise, np.zeros(shape))]
    few, count = math.prod(noise_shape(min(frames, 4))), math.prod(shape)
    return [
        judge_network(
            case.name,
            NOISE,
            quantity,
            noise.reshape(-1)[start : start + few],
            standard_normals(key, start, start + few),
        )
        for quantity, start in (("first values", 0), ("last values", count - few))
    ]


def _text_encoder(run: _Calls, reference: CaseReference, outputs: dict[str, Array]) -> Judged:
    step, inputs = "text_encoder_forward", reference.inputs
    (t_en,) = run.outputs_of(step, inputs.input_ids, inputs.lengths)
    outputs["t_en"] = t_en
    return [judge_network(inputs.case.name, step, "t_en", t_en, reference.arrays.t_en)]


def _f0n(run: _Calls, reference: CaseReference, outputs: dict[str, Array]) -> Judged:
    step, inputs, arrays = "f0n_forward", reference.inputs, reference.arrays
    f0, n = run.outputs_of(step, reference.en, inputs.predictor_style)
    outputs.update(F0=f0, N=n)
    return [
        judge_network(inputs.case.name, step, "F0", f0, arrays.step_F0),
        judge_network(inputs.case.name, step, "N", n, arrays.step_N),
    ]


def _source(run: _Calls, reference: CaseReference, outputs: dict[str, Array]) -> Judged:
    step, arrays = "source_forward", reference.arrays
    (har,) = run.outputs_of(step, rounded(arrays.F0), reference.noise)
    outputs["har"] = har
    waveform = arrays.step_waveform
    return judge_source(
        reference.inputs.case.name, step, har, waveform, stock_har(waveform), stock_window()
    )


def _decoder(run: _Calls, reference: CaseReference, outputs: dict[str, Array]) -> Judged:
    step, inputs, arrays = "decoder_forward", reference.inputs, reference.arrays
    f0, n = rounded(arrays.F0), rounded(arrays.N)
    (audio,) = run.outputs_of(step, reference.asr, f0, n, inputs.decoder_style, reference.har)
    outputs["audio"] = audio
    return []


def _judge_audio(reference: CaseReference, audio: Array, precision: str) -> Measurement:
    name, expected = reference.inputs.case.name, reference.arrays.audio
    if not is_reduced(precision):
        return judge_network(name, "decoder_forward", "audio", audio, expected)
    return judge_signal(name, "decoder_forward", "audio", audio, expected, precision)


_STEPS = {
    "bert_forward": _bert,
    "duration_forward": _duration,
    NOISE: _noise,
    "text_encoder_forward": _text_encoder,
    "f0n_forward": _f0n,
    "source_forward": _source,
    "decoder_forward": _decoder,
}

FUNCTION_NAMES = tuple(_STEPS)


def _whole(run: _Calls, reference: CaseReference, outputs: dict[str, Array]) -> Judged:
    """Chain the six functions by the code of the running half, with the reference's durations.

    Judges the durations that the chain predicts, and stores its outputs in `outputs`.
    """
    inputs, arrays = reference.inputs, reference.arrays
    case = inputs.case
    functions = cast("Mapping[str, CompiledFunction]", run)
    phonemes = tuple(int(i) for i in inputs.input_ids[0, 1:-1])
    try:
        timing = predict_timing(functions, phonemes, inputs.style, case.speed)
        forced = replace(timing, frames=arrays.durations)
        audio = render_audio(functions, forced, inputs.style, reference.noise)
    except ArtifactError as error:  # the running half rejects values that are not finite
        return [judge_failed(case.name, WHOLE_STEP, "audio", str(error))]
    outputs["whole_audio"] = audio[None]
    outputs["whole_duration"], outputs["whole_d"] = run.outputs["duration_forward"]
    outputs["whole_F0"], outputs["whole_N"] = run.outputs["f0n_forward"]
    (outputs["whole_har"],) = run.outputs["source_forward"]
    return [judge_durations(case.name, WHOLE_STEP, timing.frames, arrays.lengths)]
