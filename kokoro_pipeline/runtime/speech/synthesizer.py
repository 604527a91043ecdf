"""Speech from an artifact, without PyTorch."""

from __future__ import annotations

import functools
import math
import numbers
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_pipeline.artifact.manifest import Manifest
from kokoro_pipeline.artifact.reader import Artifact, open_artifact
from kokoro_pipeline.config import MAX_PHONEMES, load_config
from kokoro_pipeline.errors import ArtifactError, InputError

from ..engine.arrays import Array
from ..engine.device import AUTO, CPU, Device, find_device, start_device
from ..engine.dispatcher import Dispatcher
from ..engine.executable import Executable
from ..engine.functions import CompiledFunction
from ..engine.library import load_runtime, release_pool
from ..engine.resident import DeviceExecutable, Resident
from ..engine.threads import configure_pool, resolve_threads
from ..text.chunking import PhonemeSpan, split_phonemes
from ..text.vocabulary import UnknownSymbol, Vocabulary
from ..voices import load_voice, style_row
from .chunk import ALIGN, predict_timing, render_audio
from .noise import check_noise, check_seed, seeded_noise
from .result import ChunkSpans, Span, Speech, UnknownSymbolWarning, UnspokenTextWarning

FUNCTIONS = (
    "bert_forward",
    "duration_forward",
    "text_encoder_forward",
    "f0n_forward",
    "source_forward",
    "decoder_forward",
)
"""The compiled functions that synthesis takes, in the order it calls them."""

MIN_SPEED = 0.1
MAX_SPEED = 10.0

Voice = str | os.PathLike[str] | Array


def load(
    directory: str | os.PathLike[str],
    threads: int | None = None,
    device: str = AUTO,
    graphs: bool = False,
) -> Synthesizer:
    """Open an artifact folder for synthesis.

    `threads` is the number of CPU threads the kernels use: by default $TVM_NUM_THREADS, else the
    CPUs that this process may run on. The result is the same, bit for bit, for any number.

    `device` is "auto" (what the artifact was compiled for), "cpu", "cuda", "cuda:N" or "metal".
    Nothing runs elsewhere than was asked for.

    `graphs` (CUDA only) makes a CUDA graph of each function at the second call with equal sizes,
    and launches that from then on: the same results with less work for the CPU, for the memory that
    the graphs keep until a call needs it. Off by default: it has not been seen on a GPU yet.

    An artifact contains machine code: load only what you trust. Raises ArtifactError where the
    folder is none, is damaged, or was made for another TVM, CPU or device, InputError for a device
    that is not known or not there, or graphs without CUDA, and EnvironmentFault where the TVM
    runtime or a driver is missing or broken.
    """
    return Synthesizer(open_artifact(Path(directory)), threads, device, graphs)


@dataclass(frozen=True)
class _Chunk:
    span: PhonemeSpan
    ids: tuple[int, ...]
    style: NDArray[np.float32]
    """[1, 256]."""


@dataclass(frozen=True)
class _Plan:
    """A checked request."""

    phonemes: str
    chunks: tuple[_Chunk, ...]
    speed: float
    unknown: tuple[UnknownSymbol, ...]
    voice: str


class Synthesizer:
    """A loaded artifact; made by `load`.

    Safe from several threads: their calls take turns. It owns threads, which end with `close`, at
    the end of a `with` block, or when nothing refers to it. It does not survive a fork: calls in
    the child raise EnvironmentFault.
    """

    def __init__(
        self,
        artifact: Artifact,
        threads: int | None = None,
        device: str = AUTO,
        graphs: bool = False,
    ) -> None:
        """Start a checked artifact. Raises InputError for bad `threads`; else as `load`."""
        count = resolve_threads(threads)
        chosen = find_device(device, artifact.manifest.target, str(artifact.path))
        if graphs and chosen.kind != "cuda":
            raise InputError(f"graphs=True is for CUDA, and this runs on {chosen}: leave it out")
        config = load_config(artifact.config)
        tvm_ffi = load_runtime()
        self._artifact = artifact
        self._threads = count
        self._device = chosen
        self._graphs = graphs
        self._vocabulary = Vocabulary(config.vocab)

        def start() -> Executable | DeviceExecutable:
            configure_pool(count, tvm_ffi)
            if chosen.kind == CPU:
                return Executable(artifact, tvm_ffi)
            start_device(chosen)
            return DeviceExecutable(artifact, tvm_ffi, chosen, graphs)

        self._dispatcher = Dispatcher(at_end=functools.partial(release_pool, tvm_ffi))
        try:
            executable = self._dispatcher.run(start)
        except BaseException:
            self._dispatcher.close()
            raise
        call = _calls(self._dispatcher, executable)

        def functions(names: Iterable[str], resident: bool) -> Mapping[str, CompiledFunction]:
            specs = artifact.manifest.functions
            return MappingProxyType(
                {
                    name: CompiledFunction(name, specs[name], config.n_token, call, resident)
                    for name in names
                }
            )

        everything = artifact.manifest.functions
        self._functions = functions([name for name in everything if name != ALIGN], False)
        # What speaks leaves its intermediate results on the device.
        self._inner = functions(everything, True) if chosen.kind != CPU else self._functions

    @property
    def path(self) -> Path:
        """The artifact's folder."""
        return self._artifact.path

    @property
    def manifest(self) -> Manifest:
        """What the artifact says of itself."""
        return self._artifact.manifest

    @property
    def functions(self) -> Mapping[str, CompiledFunction]:
        """The artifact's compiled functions by name; each takes and returns numpy arrays."""
        return self._functions

    @property
    def chain(self) -> Mapping[str, CompiledFunction]:
        """The functions as synthesis calls them: on a device their outputs stay there."""
        return self._inner

    @property
    def threads(self) -> int:
        """CPU threads that the kernels use."""
        return self._threads

    @property
    def device(self) -> Device:
        """Where the kernels run."""
        return self._device

    @property
    def graphs(self) -> bool:
        """Whether sizes that come again are launched as CUDA graphs."""
        return self._graphs

    @property
    def voices(self) -> tuple[str, ...]:
        """Names of the voices in the artifact."""
        return self._artifact.manifest.voices

    @property
    def synthetic(self) -> bool:
        """Whether the weights are the random stand-in, whose output is no speech."""
        return self._artifact.manifest.weights.synthetic

    def synthesize(
        self,
        phonemes: str,
        voice: Voice = "af_heart",
        speed: float = 1.0,
        seed: int = 0,
        noise: NDArray[np.float32] | None = None,
    ) -> Speech:
        """Speak a string of phonemes.

        `voice` is a name in the artifact, a blend "af_heart:0.6,af_bella:0.4", a path to .npy, .bin
        or .pt, or an array float32 [510, 1, 256] or [510, 256]. `speed` (0.1 to 10) divides every
        duration. `seed` fixes the noise: the same seed gives the same bits on the same artifact and
        CPU. `noise` replaces it, float32 [1, 600*frames, 9] of standard normals, for input of one
        chunk only.

        Input over 510 phonemes is split at sentences, clauses or words, and joined. Symbols
        outside the vocabulary are left unspoken, with an UnknownSymbolWarning and in
        `Speech.unknown`. Raises InputError for input that cannot be spoken.
        """
        plan = self._plan(phonemes, voice, speed, FUNCTIONS)
        return self._render(plan, check_seed(seed), noise)

    def speak(
        self,
        text: str,
        voice: Voice = "af_heart",
        lang: str = "en-us",
        speed: float = 1.0,
        seed: int = 0,
    ) -> Speech:
        """Speak a text in `lang`; as `synthesize` otherwise.

        What has no phonemes is left unspoken, with an UnspokenTextWarning and in `Speech.unspoken`.
        Needs the `text` extra: raises EnvironmentFault without it, and InputError for a language
        that is not supported or a text with nothing to say.
        """
        # Lazy: synthesis from phonemes needs none of its packages.
        from ..text.phonemize import phonemize

        if not isinstance(text, str):
            raise InputError(f"text is {type(text).__name__}, expected a string")
        read = phonemize(text, lang)
        if read.unspoken:
            message = f"left unspoken, for it has no phonemes: {_excerpt(read.unspoken)}"
            warnings.warn(UnspokenTextWarning(message), stacklevel=2)
        plan = self._plan(read.phonemes, voice, speed, FUNCTIONS)
        return replace(self._render(plan, check_seed(seed), None), unspoken=read.unspoken)

    def predict_durations(
        self, phonemes: str, voice: Voice = "af_heart", speed: float = 1.0
    ) -> NDArray[np.int64]:
        """Frames (600 samples) of each token, int64 [tokens + 2 * chunks], without synthesis.

        The `durations` that `synthesize` would have; arguments and errors as there.
        """
        plan = self._plan(phonemes, voice, speed, FUNCTIONS[:2])
        timings = [
            predict_timing(self._inner, chunk.ids, chunk.style, plan.speed) for chunk in plan.chunks
        ]
        return np.concatenate([timing.frames for timing in timings])

    def close(self) -> None:
        """End the threads, after calls that other threads have under way. Later calls raise
        InputError; closing twice is harmless."""
        self._dispatcher.close()

    def __enter__(self) -> Synthesizer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = " closed" if self._dispatcher.closed else ""
        where = "" if self.device.kind == CPU else f" device={self.device}"
        return f"<Synthesizer {str(self.path)!r} threads={self.threads}{where}{state}>"

    def _plan(self, phonemes: str, voice: Voice, speed: float, functions: tuple[str, ...]) -> _Plan:
        self._require(functions)
        if not isinstance(phonemes, str):
            raise InputError(f"phonemes is {type(phonemes).__name__}, expected a string")
        speed = _check_speed(speed)
        if not phonemes.strip():
            raise InputError("there is nothing to say: the phonemes are empty")
        encoded = self._vocabulary.encode(phonemes)
        if not any(symbol in self._vocabulary and not symbol.isspace() for symbol in phonemes):
            raise InputError(f"there is nothing to say: {_unknown_text(encoded.unknown)}")
        pack = load_voice(voice, self._artifact.voices)
        chunks = []
        for span in split_phonemes(phonemes, self._vocabulary):
            text = phonemes[span.start : span.end]
            # A row for each length of a chunk. Unknown symbols count, as they do in kokoro, but
            # there are no rows beyond the last.
            style = style_row(pack, min(len(text), MAX_PHONEMES))
            chunks.append(_Chunk(span, self._vocabulary.encode(text).ids, style))
        if encoded.unknown:
            # Level 3 is the caller of the public method that calls this one.
            warnings.warn(UnknownSymbolWarning(_unknown_text(encoded.unknown)), stacklevel=3)
        name = "array" if isinstance(voice, np.ndarray) else os.fspath(voice)
        return _Plan(phonemes, tuple(chunks), speed, encoded.unknown, name)

    def _render(self, plan: _Plan, seed: int, noise: NDArray[np.float32] | None) -> Speech:
        if noise is not None and len(plan.chunks) != 1:
            raise InputError(
                f"noise is for input of one chunk, this has {len(plan.chunks)}; give at most "
                f"{MAX_PHONEMES} phonemes, or a seed in place of noise"
            )
        audio: list[Array] = []
        durations: list[Array] = []
        spans: list[ChunkSpans] = []
        tokens = samples = 0
        for index, chunk in enumerate(plan.chunks):
            timing = predict_timing(self._inner, chunk.ids, chunk.style, plan.speed)
            frames = timing.total_frames
            if noise is None:
                values = seeded_noise(seed, index, frames)
            else:
                values = check_noise(noise, frames)
            audio.append(render_audio(self._inner, timing, chunk.style, values))
            durations.append(timing.frames)
            spans.append(
                ChunkSpans(
                    Span(*chunk.span),
                    Span(tokens, tokens + len(durations[-1])),
                    Span(samples, samples + len(audio[-1])),
                )
            )
            tokens, samples = spans[-1].tokens.end, spans[-1].samples.end
        return Speech(
            audio=np.concatenate(audio),
            durations=np.concatenate(durations),
            phonemes=plan.phonemes,
            chunks=tuple(spans),
            unknown=plan.unknown,
            voice=plan.voice,
            speed=plan.speed,
            seed=seed if noise is None else None,
            synthetic=self.synthetic,
        )

    def _require(self, functions: tuple[str, ...]) -> None:
        missing = [name for name in functions if name not in self._functions]
        if missing:
            raise ArtifactError(
                f"{self.path} has no {', '.join(missing)}: it was built with --components; "
                "build the whole with: kokoro-pipeline build -o DIR"
            )


def _calls(dispatcher: Dispatcher, executable: Executable | DeviceExecutable) -> Any:
    def call(name: str, symbols: Mapping[str, int], inputs: list[Any]) -> list[Any]:
        return dispatcher.run(lambda: executable.call(name, symbols, inputs))

    if isinstance(executable, Executable):
        return call

    def fetch(tensor: Any, array: Array) -> None:
        dispatcher.run(lambda: executable.fetch(tensor, array))

    def wait() -> None:
        dispatcher.run(executable.wait)

    release = executable.release
    return lambda *words: [Resident(tensor, fetch, release, wait) for tensor in call(*words)]


def _check_speed(speed: Any) -> float:
    number = float(speed) if isinstance(speed, numbers.Real) else math.nan
    if not MIN_SPEED <= number <= MAX_SPEED:  # false for NaN
        raise InputError(
            f"speed is {speed!r}, expected a number from {MIN_SPEED:g} to {MAX_SPEED:g}"
        )
    return number


def _unknown_text(unknown: tuple[UnknownSymbol, ...]) -> str:
    count = "1 symbol is" if len(unknown) == 1 else f"{len(unknown)} symbols are"
    return f"{count} not in the model's vocabulary and left unspoken: {_excerpt(unknown)}"


def _excerpt(items: Sequence[object]) -> str:
    rest = f" and {len(items) - 5} more" if len(items) > 5 else ""
    return ", ".join(str(item) for item in items[:5]) + rest
