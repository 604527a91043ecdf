"""Run the six functions in sequence and time each of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..runtime.engine.resident import Resident
from ..runtime.speech.chunk import predict_timing, render_audio
from .chunk_inputs import Case
from .samples import Sample

Functions = Mapping[str, Callable[..., Any]]
"""The six functions by name, with the signatures of an artifact, for numpy arrays."""


class TimedFunctions(Mapping[str, Callable[..., Any]]):
    """Functions that record the time spent in each in `seconds`.

    The time includes waiting for pending work on a device.
    """

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self.seconds: dict[str, float] = {}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        function = self._functions[name]

        def timed(*arrays: Any) -> Any:
            start = time.perf_counter()
            result = function(*arrays)
            for each in result if isinstance(result, tuple | list) else (result,):
                if isinstance(each, Resident):
                    each.wait()
            spent = time.perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + spent
            return result

        return timed

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)


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
