"""Speak a case with the functions of any runtime, by the code of ours."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_pipeline.benchmarking.samples import Sample
from kokoro_pipeline.benchmarking.timed_functions import Functions, TimedFunctions
from kokoro_pipeline.runtime.speech.chunk import predict_timing, render_audio

from .chunk_inputs import Case


def speak(functions: Functions, case: Case) -> NDArray[np.float32]:
    """The audio [600 t] of a case, computed by the code of the runtime.

    The durations are computed as usual, but those of the case are used.
    """
    ids = tuple(int(token) for token in case.input_ids[0, 1:-1])
    known: Any = functions
    timing = replace(predict_timing(known, ids, case.style, 1.0), frames=case.frames)
    audio: NDArray[np.float32] = render_audio(known, timing, case.style, case.noise)
    return audio


def speak_case(functions: Functions, case: Case) -> tuple[NDArray[np.float32], Sample]:
    """Call `speak`; returns its result and the time."""
    timed: Any = TimedFunctions(functions)
    cpu, start = time.process_time(), time.perf_counter()
    audio = speak(timed, case)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    return audio, Sample(seconds, cpu_seconds, timed.seconds)
