"""Speech synthesis from an artifact, without PyTorch."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from kokoro_pipeline.artifact.manifest import Manifest
from kokoro_pipeline.artifact.reader import Artifact, open_artifact
from kokoro_pipeline.config import MAX_PHONEMES, SAMPLE_RATE, load_config
from kokoro_pipeline.errors import ArtifactError, InputError

from ..engine.arrays import Array
from ..engine.device import AUTO, CPU, Device, find_device, start_device
from ..engine.dispatcher import Dispatcher
from ..engine.executable import Executable
from ..engine.functions import CompiledFunction
from ..engine.library import load_runtime, release_pool, trim_heap
from ..engine.resident import DeviceExecutable, Resident
from ..engine.threads import configure_pool, resolve_threads
from ..text.chunking import PhonemeSpan, split_phonemes
from ..text.lexicon import Lexicon
from ..text.vocabulary import UnknownSymbol, Vocabulary
from ..voices import load_voice, style_row
from .binding import binding_of
from .chunk import ALIGN
from .noise import check_noise, draw_noise
from .pieces import First, Piece, Split
from .progress import Progress
from .request import SpeechRequest, Voice, check_phonemes, excerpt, splitting_of
from .result import (
    IgnoredMarkupWarning,
    Speech,
    UnknownSymbolWarning,
    UnspokenTextWarning,
    join_speech,
)
from .spans import ChunkSpans, Span
from .streaming import PulledText, SpeechStream, Stopped, pieces_of
from .timings import mark_times

T = TypeVar("T")


def load(
    directory: str | os.PathLike[str],
    threads: int | None = None,
    device: str = AUTO,
    graphs: bool = False,
) -> Synthesizer:
    """Open an artifact folder for synthesis.

    `threads` is the number of CPU threads that the kernels use: by default $TVM_NUM_THREADS, else
    the number of CPUs that this process may run on. The result is bit-identical for any number of
    threads.

    `device` is "auto" (the device that the artifact was compiled for), "cpu", "cuda", "cuda:N" or
    "metal". There is no fallback to another device.

    `graphs` (CUDA only) captures a CUDA graph of each function at the second call with the same
    sizes and launches it from then on. Results are the same, with less work for the CPU; the graphs
    keep memory until another call needs it, and sizes that occur once gain nothing.

    An artifact contains machine code, so only load artifacts that you trust.

    Raises ArtifactError if the folder is not an artifact, is damaged, or was made for another TVM,
    CPU or device, InputError for a device that is unknown or not present, or for graphs without
    CUDA, and EnvironmentFault if the TVM runtime or a driver is missing or broken.
    """
    if not isinstance(directory, str | os.PathLike):
        raise InputError(
            f"the artifact is {type(directory).__name__}, expected the path of its folder"
        )
    return Synthesizer(open_artifact(Path(directory)), threads, device, graphs)


@dataclass(frozen=True)
class _Chunk:
    span: PhonemeSpan
    ids: tuple[int, ...]
    symbols: tuple[int, ...]
    """Where the symbol of each id is in the piece's phonemes."""
    style: NDArray[np.float32]
    """float32 [1, 256]."""


@dataclass(frozen=True)
class _Plan:
    """A piece in chunks, with the ids and the style of each."""

    piece: Piece
    chunks: tuple[_Chunk, ...]
    unknown: tuple[UnknownSymbol, ...]


class Synthesizer:
    """A loaded artifact, as returned by `load`.

    It is thread-safe: calls from several threads take turns. It owns threads, which end with
    `close`, at the end of a `with` block, or when it is garbage-collected. It cannot be used after
    a fork: calls in the child process raise EnvironmentFault.
    """

    def __init__(
        self,
        artifact: Artifact,
        threads: int | None = None,
        device: str = AUTO,
        graphs: bool = False,
    ) -> None:
        """Start a checked artifact; see `load`. Raises InputError for invalid `threads` as well."""
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
        self._binding = binding_of(artifact.manifest)

        def start() -> Executable | DeviceExecutable:
            configure_pool(count, tvm_ffi)
            if chosen.kind == CPU:
                return Executable(artifact, tvm_ffi)
            start_device(chosen)
            return DeviceExecutable(artifact, tvm_ffi, chosen, graphs)

        self._release = functools.partial(release_pool, tvm_ffi)
        self._dispatcher = Dispatcher(at_end=self._release)
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
        # Synthesis leaves intermediate results on the device.
        self._inner = functions(everything, True) if chosen.kind != CPU else self._functions

    @property
    def path(self) -> Path:
        """The artifact's folder."""
        return self._artifact.path

    @property
    def manifest(self) -> Manifest:
        """The manifest of the artifact."""
        return self._artifact.manifest

    @property
    def functions(self) -> Mapping[str, CompiledFunction]:
        """The artifact's compiled functions by name; each takes and returns numpy arrays."""
        return self._functions

    @property
    def chain(self) -> Mapping[str, CompiledFunction]:
        """The functions as synthesis calls them: on a device, their outputs stay there."""
        return self._inner

    @property
    def threads(self) -> int:
        """Number of CPU threads that the kernels use."""
        return self._threads

    @property
    def device(self) -> Device:
        """The device that the kernels run on."""
        return self._device

    @property
    def graphs(self) -> bool:
        """Whether functions are launched as CUDA graphs for sizes that occur again."""
        return self._graphs

    @property
    def voices(self) -> tuple[str, ...]:
        """Names of the voices in the artifact."""
        return self._artifact.manifest.voices

    @property
    def synthetic(self) -> bool:
        """Whether the weights are synthetic, so that the output is not speech."""
        return self._artifact.manifest.weights.synthetic

    def synthesize(
        self,
        phonemes: str,
        voice: Voice = "af_heart",
        speed: float = 1.0,
        seed: int = 0,
        noise: NDArray[np.float32] | None = None,
    ) -> Speech:
        """Synthesize speech from a string of phonemes.

        `voice` is the name of a voice in the artifact, a blend "af_heart:0.6,af_bella:0.4", a path
        to a .npy, .bin or .pt file, or an array float32 [510, 1, 256] or [510, 256]. `speed` (0.1
        to 10) divides every duration. `seed` determines the noise: with the same artifact and CPU,
        the same seed gives bit-identical audio. `noise`, float32 [1, 600*frames, 9] of standard
        normals, replaces the generated noise; it is only supported for input of one chunk.

        Input of more than 510 phonemes is split at sentences, clauses or words, and the audio is
        joined. Symbols outside the vocabulary are not spoken; they cause an UnknownSymbolWarning
        and are listed in `Speech.unknown`.

        Raises InputError for input that cannot be spoken and for invalid arguments.
        """
        check_phonemes(phonemes)
        request = SpeechRequest(phonemes=phonemes, voice=voice, speed=speed, seed=seed)
        plan = self._plan(Piece(phonemes), self._pack(request))
        self._warn_of_unknown(plan.unknown)
        return self._render(plan, request, 0, noise)

    def speak(
        self,
        text: str | Iterable[str],
        voice: Voice = "af_heart",
        lang: str | None = None,
        speed: float = 1.0,
        seed: int = 0,
        *,
        split: Split = "auto",
        first: First = "sentence",
        pause_sentence: float = 0.0,
        pause_paragraph: float = 0.0,
        lexicon: Lexicon | None = None,
        ssml: bool = False,
    ) -> Speech:
        """Synthesize speech from a text: what `stream` gives with the same arguments, joined.

        Parts without phonemes are not spoken; they cause an UnspokenTextWarning and are listed in
        `Speech.unspoken`.
        """
        splitting = splitting_of(split, first, pause_sentence, pause_paragraph)
        request = SpeechRequest(text, None, voice, lang, speed, seed, splitting, lexicon, ssml)
        _warn_of_ignored(request)
        speech = join_speech(list(self.render(request)))
        self._warn_of_unknown(speech.unknown)
        _warn_of_unspoken(speech.unspoken)
        return speech

    def stream(
        self,
        text: str | Iterable[str] | None = None,
        voice: Voice = "af_heart",
        lang: str | None = None,
        speed: float = 1.0,
        seed: int = 0,
        *,
        phonemes: str | None = None,
        split: Split = "auto",
        first: First = "sentence",
        pause_sentence: float = 0.0,
        pause_paragraph: float = 0.0,
        lexicon: Lexicon | None = None,
        ssml: bool = False,
    ) -> SpeechStream:
        """An iterator of `Speech`, piece by piece, which makes the next one ahead of the caller.

        `text` is a string, or an iterable of strings that make up the text: a piece starts as soon
        as its text is complete, and is the same whatever the strings are. `phonemes` can be given
        in its place. `lang` is a code such as "en-gb", "fr" or "zh"; by default the voice's own
        language. `voice`, `speed` and `seed` are those of `synthesize`.

        With `split` "auto", sentences are grouped to about 200 phonemes and a paragraph ends a
        piece; with "sentence" or "paragraph" each one is a piece. The first piece is the first
        sentence, or with `first` "clause" its first clause. `pause_sentence` and `pause_paragraph`,
        in milliseconds, are silence between them; with the former, every sentence is a piece.

        `lexicon` (`runtime.text.read_lexicon`) says how words are pronounced. With `ssml`, the text
        is an SSML document, whose marks come back in `Speech.marks`; markup that changes nothing
        causes an `IgnoredMarkupWarning`. `[pause 500ms]` in a plain text is silence.

        Parts of the text without phonemes are listed in `Speech.unspoken` of their piece.

        Leaving the loop, or `close`, ends the work, and the synthesizer stays usable.

        Raises InputError for invalid arguments at the call, and while iterating EnvironmentFault if
        the extra of the language is not installed and InputError for a text with nothing to say.
        """
        splitting = splitting_of(split, first, pause_sentence, pause_paragraph)
        request = SpeechRequest(text, phonemes, voice, lang, speed, seed, splitting, lexicon, ssml)
        _warn_of_ignored(request)
        return self.open_stream(request)

    def astream(
        self,
        text: str | Iterable[str] | AsyncIterable[str] | None = None,
        voice: Voice = "af_heart",
        lang: str | None = None,
        speed: float = 1.0,
        seed: int = 0,
        *,
        phonemes: str | None = None,
        split: Split = "auto",
        first: First = "sentence",
        pause_sentence: float = 0.0,
        pause_paragraph: float = 0.0,
        lexicon: Lexicon | None = None,
        ssml: bool = False,
    ) -> AsyncGenerator[Speech, None]:
        """`stream` for `async for`, with a text that may be an asynchronous iterable as well.

        Cancelling the task that iterates ends the work. Invalid arguments raise at the call, as in
        `stream`, and an asynchronous text needs a running event loop there.
        """
        pulled = PulledText(text) if isinstance(text, AsyncIterable) else None
        stream = self.stream(
            text if pulled is None else pulled,  # type: ignore[arg-type] # not asynchronous here
            voice,
            lang,
            speed,
            seed,
            phonemes=phonemes,
            split=split,
            first=first,
            pause_sentence=pause_sentence,
            pause_paragraph=pause_paragraph,
            lexicon=lexicon,
            ssml=ssml,
        )
        return pieces_of(stream, pulled)

    def open_stream(
        self, request: SpeechRequest, pieces: Iterator[Piece] | None = None
    ) -> SpeechStream:
        """The stream of a request; see `stream`. `pieces` are its pieces, if they were begun."""
        self._require(self._binding.functions)
        begun = request.pieces() if pieces is None else pieces
        return SpeechStream(functools.partial(self._render_pieces, request, begun))

    def render_piece(
        self, piece: Piece, request: SpeechRequest, first_chunk: int = 0
    ) -> Speech | None:
        """Synthesize a piece of a request, whose first chunk is number `first_chunk` there.

        A piece without phonemes is silence. None if its phonemes, which were given, have no symbol
        that the model knows.
        """
        if piece.voice is not None or piece.speed != 1:
            request = replace(
                request, voice=piece.voice or request.voice, speed=request.speed * piece.speed
            )
        if not piece.phonemes:
            return self._render(_Plan(piece, (), ()), request, first_chunk, None)
        if not any(symbol.isalnum() and symbol in self._vocabulary for symbol in piece.phonemes):
            return None
        plan = self._plan(piece, self._pack(request))
        return self._render(plan, request, first_chunk, None)

    def render(self, request: SpeechRequest) -> Iterator[Speech]:
        """The pieces of a request, each synthesized when it is asked for, on this thread."""
        return self._render_pieces(request, request.pieces(), bool)

    def _render_pieces(
        self, request: SpeechRequest, pieces: Iterator[Piece], stopped: Stopped
    ) -> Iterator[Speech]:
        progress = Progress()
        for piece in pieces:
            if stopped():
                return
            speech = self.render_piece(progress.with_lost(piece), request, progress.chunks)
            progress.add(piece, speech)
            if speech is not None:
                yield speech
        _warn_of_unspoken(progress.end())

    def predict_durations(
        self, phonemes: str, voice: Voice = "af_heart", speed: float = 1.0
    ) -> NDArray[np.int64]:
        """Frames (600 samples) of each token, int64 [tokens + 2 * chunks], without synthesis.

        These are the `durations` that `synthesize` would return, for the same arguments and with
        the same errors.
        """
        check_phonemes(phonemes)
        request = SpeechRequest(phonemes=phonemes, voice=voice, speed=speed)
        plan = self._plan(Piece(phonemes), self._pack(request, self._binding.timing))
        self._warn_of_unknown(plan.unknown)
        timings = [
            self._binding.predict_timing(self._inner, chunk.ids, chunk.style, request.speed)
            for chunk in plan.chunks
        ]
        return np.concatenate([timing.frames for timing in timings])

    def in_turn(self, job: Callable[[], T]) -> T:
        """Run `job` on the thread of the functions; returns its result or raises its exception.

        Functions that the job calls do not change threads, which takes as long as a small function,
        and calls of other threads wait until it has ended. A KeyboardInterrupt is raised at once.
        """
        return self._dispatcher.run(job)

    def release_memory(self) -> None:
        """Give the memory of the last call back to the system; the next call asks for it again.

        Otherwise it keeps as much as the longest recent chunk needed, about 20 MB per second of
        audio.
        """
        self._dispatcher.run(self._release)
        trim_heap()

    def close(self) -> None:
        """End the threads after pending calls of other threads.

        Later calls raise InputError. Closing more than once has no effect.
        """
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

    def __reduce__(self) -> NoReturn:
        raise InputError(
            "a Synthesizer cannot be pickled or copied, because it owns threads and compiled code: "
            f"call load({str(self.path)!r}) in the other process"
        )

    def __repr__(self) -> str:
        state = " closed" if self._dispatcher.closed else ""
        where = "" if self.device.kind == CPU else f" device={self.device}"
        return f"<Synthesizer {str(self.path)!r} threads={self.threads}{where}{state}>"

    def _pack(self, request: SpeechRequest, functions: tuple[str, ...] | None = None) -> Array:
        """The voice of a request, for an artifact that has the functions, by default all."""
        self._require(functions or self._binding.functions)
        artifact = self._artifact
        return load_voice(request.voice, artifact.voices, artifact.manifest.voices)

    def _plan(self, piece: Piece, pack: Array) -> _Plan:
        chunks: list[_Chunk] = []
        unknown: list[UnknownSymbol] = []
        for span in split_phonemes(piece.phonemes, self._vocabulary):
            text = piece.phonemes[span.start : span.end]
            encoded = self._vocabulary.encode(text)
            unknown += [replace(u, position=u.position + span.start) for u in encoded.unknown]
            # The voice has a row for each length of a chunk. Unknown symbols count, as in kokoro,
            # but the length is limited to the last row.
            style = style_row(pack, min(len(text), MAX_PHONEMES))
            symbols = tuple(span.start + position for position in encoded.positions)
            chunks.append(_Chunk(span, encoded.ids, symbols, style))
        if not self._speakable(piece.phonemes):
            raise InputError(f"there is nothing to say: {_unknown_text(unknown)}")
        return _Plan(piece, tuple(chunks), tuple(unknown))

    def _speakable(self, phonemes: str) -> bool:
        return any(symbol in self._vocabulary and not symbol.isspace() for symbol in phonemes)

    def _render(
        self,
        plan: _Plan,
        request: SpeechRequest,
        first_chunk: int,
        noise: NDArray[np.float32] | None,
    ) -> Speech:
        """Synthesize a piece. `first_chunk` is the number of its first chunk in the request."""
        if noise is not None and len(plan.chunks) != 1:
            raise InputError(
                f"noise is for input of one chunk, this has {len(plan.chunks)}; give at most "
                f"{MAX_PHONEMES} phonemes, or a seed in place of noise"
            )
        silence = np.zeros(round(plan.piece.silence * SAMPLE_RATE), np.float32)
        audio: list[Array] = [silence]
        durations: list[Array] = []
        spans: list[ChunkSpans] = []
        tokens, samples = 0, len(silence)
        for index, chunk in enumerate(plan.chunks, first_chunk):
            rendered = functools.partial(self._render_chunk, chunk, request, index, noise)
            frames, samples_of_chunk = self.in_turn(rendered)
            audio.append(samples_of_chunk)
            durations.append(frames)
            spans.append(
                ChunkSpans(
                    Span(*chunk.span),
                    Span(tokens, tokens + len(durations[-1])),
                    Span(samples, samples + len(audio[-1])),
                    chunk.symbols,
                )
            )
            tokens, samples = spans[-1].tokens.end, spans[-1].samples.end
        speech = Speech(
            audio=np.concatenate(audio),
            durations=np.concatenate(durations) if durations else np.empty(0, np.int64),
            phonemes=plan.piece.phonemes,
            chunks=tuple(spans),
            unknown=plan.unknown,
            unspoken=plan.piece.unspoken,
            voice="array" if isinstance(request.voice, np.ndarray) else os.fspath(request.voice),
            speed=request.speed,
            seed=request.seed if noise is None else None,
            synthetic=self.synthetic,
            read=plan.piece.words,
        )
        if not plan.piece.marks:
            return speech
        return replace(speech, marks=mark_times(speech, plan.piece.marks, speech.seconds))

    def _render_chunk(
        self, chunk: _Chunk, request: SpeechRequest, index: int, noise: Array | None
    ) -> tuple[Array, Array]:
        """Frames of each token and the samples of chunk number `index` of a request."""
        timing = self._binding.predict_timing(self._inner, chunk.ids, chunk.style, request.speed)
        frames = timing.total_frames
        values = (
            draw_noise(self._inner, request.seed, index, frames)
            if noise is None
            else check_noise(noise, frames)
        )
        return timing.frames, self._binding.render_audio(self._inner, timing, chunk.style, values)

    def _warn_of_unknown(self, unknown: Sequence[UnknownSymbol]) -> None:
        if unknown:
            # Stack level 3 is the caller of the public method that calls this one.
            warnings.warn(UnknownSymbolWarning(_unknown_text(unknown)), stacklevel=3)

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


def _warn_of_ignored(request: SpeechRequest) -> None:
    if request.ignored:
        message = f"ignored, for it changes nothing: {excerpt(request.ignored)}"
        warnings.warn(IgnoredMarkupWarning(message), stacklevel=3)


def _warn_of_unspoken(unspoken: Sequence[str]) -> None:
    if unspoken:
        message = f"left unspoken, for it has no phonemes: {excerpt(unspoken)}"
        warnings.warn(UnspokenTextWarning(message), stacklevel=3)


def _unknown_text(unknown: Sequence[UnknownSymbol]) -> str:
    count = "1 symbol is" if len(unknown) == 1 else f"{len(unknown)} symbols are"
    return f"{count} not in the model's vocabulary and left unspoken: {excerpt(unknown)}"
