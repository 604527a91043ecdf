"""Our own contender: an artifact in a process with the running half only."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..config import MAX_PHONEMES, SAMPLE_RATE, SAMPLES_PER_FRAME, load_config
from ..runtime.speech.binding import binding_of
from ..runtime.speech.noise import draw_noise
from ..runtime.speech.synthesizer import load
from ..runtime.text.chunking import split_phonemes
from ..runtime.text.vocabulary import Vocabulary
from ..runtime.voices import load_voice, style_row
from .benchmark_report import Utterance
from .lengths import phonemes_lasting
from .machine import ProcessMemory, installed_versions, process_memory
from .samples import Sample
from .timed_functions import TimedFunctions

SEED = 0
SPEED = 1.0


class OurRole:
    """Answers for one artifact on `threads` threads; see `ContenderProcess`."""

    def __init__(self, role: str, threads: int, *, artifact: str, device: str = "auto") -> None:
        self._synthesizer = load(artifact, threads=threads, device=device)
        self._functions: Any = self._synthesizer.functions
        # The functions as used by synthesis: on a device, their results stay there.
        self._chain: Any = self._synthesizer.chain
        self._binding = binding_of(self._synthesizer.manifest)
        self._voices = Path(artifact) / "voices"
        self._vocabulary = Vocabulary(load_config(Path(artifact) / "config.json").vocab)

    def versions(self) -> dict[str, str]:
        """The versions of the packages in use."""
        return installed_versions("tvm-kokoro", "apache-tvm", "apache-tvm-ffi", "numpy")

    def memory(self) -> ProcessMemory:
        """The memory of this process."""
        return process_memory()

    def phonemes_lasting(self, seconds: float, voice: str) -> str:
        """Phonemes of approximately this length."""
        return phonemes_lasting(seconds, lambda phonemes: self._seconds(phonemes, voice))

    def measured(self, phonemes: str, voice: str) -> Utterance:
        """The utterance with its length."""
        return Utterance(
            phonemes,
            voice,
            seconds=self._seconds(phonemes, voice),
            tokens=len(self._vocabulary.encode(phonemes).ids),
            chunks=len(split_phonemes(phonemes, self._vocabulary)),
        )

    def speak(self, phonemes: str, voice: str) -> Sample:
        """Synthesize a whole utterance, like a user."""
        cpu, start = time.process_time(), time.perf_counter()
        self._synthesizer.synthesize(phonemes, voice, SPEED, SEED)
        return Sample(time.perf_counter() - start, time.process_time() - cpu, {})

    def first_audio(self, phonemes: str, voice: str) -> float:
        """First-audio latency: seconds from the call to the audio of the first chunk."""
        first = split_phonemes(phonemes, self._vocabulary)[0]
        start = time.perf_counter()
        self._synthesizer.synthesize(phonemes[first.start : first.end], voice, SPEED, SEED)
        return time.perf_counter() - start

    def first_of_text(self, text: str, voice: str) -> float:
        """First-audio latency of a text: seconds from the call to the first piece of the stream."""
        start = time.perf_counter()
        with contextlib.closing(self._synthesizer.stream(text, voice, "en-us")) as stream:
            next(stream)
            return time.perf_counter() - start

    def steps(self, phonemes: str, voice: str) -> Sample:
        """The times of the functions, summed over chunks."""
        timed: Any = TimedFunctions(self._chain)

        def render(index: int, ids: tuple[int, ...], style: NDArray[np.float32]) -> None:
            timing = self._binding.predict_timing(timed, ids, style, SPEED)
            noise = draw_noise(timed, SEED, index, timing.total_frames)
            self._binding.render_audio(timed, timing, style, noise)

        cpu, start = time.process_time(), time.perf_counter()
        for index, (ids, style) in enumerate(self._chunks(phonemes, voice)):
            self._synthesizer.in_turn(functools.partial(render, index, ids, style))
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
        return Sample(seconds, cpu_seconds, timed.seconds)

    def _seconds(self, phonemes: str, voice: str) -> float:
        frames = int(self._synthesizer.predict_durations(phonemes, voice, SPEED).sum())
        return frames * SAMPLES_PER_FRAME / SAMPLE_RATE

    def _chunks(
        self, phonemes: str, voice: str
    ) -> Iterator[tuple[tuple[int, ...], NDArray[np.float32]]]:
        """(ids, style [1, 256]) of each chunk, as in `Synthesizer`."""
        pack = load_voice(voice, self._voices)
        for start, end in split_phonemes(phonemes, self._vocabulary):
            style = style_row(pack, min(end - start, MAX_PHONEMES))
            yield self._vocabulary.encode(phonemes[start:end]).ids, style
