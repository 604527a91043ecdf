"""The interfaces of the packages `kokoro` and `kokoro-onnx`, spoken by an artifact without torch.

A program that uses one of them changes its import::

    from kokoro_pipeline.compat import KPipeline     # in place of: from kokoro import KPipeline
    from kokoro_pipeline.compat import Kokoro        # in place of: from kokoro_onnx import Kokoro

The artifact is the folder given as `artifact`, or else that of $KOKORO_ARTIFACT. `KModel` is for
the stock `kokoro.KPipeline(model=...)`. Audio is a numpy array, and a torch tensor where
stock kokoro calls a `KModel`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .config import SAMPLE_RATE
from .errors import InputError
from .runtime import Speech, Synthesizer, load
from .runtime.text import find_language, phonemize
from .runtime.text.chunking import split_phonemes
from .runtime.text.reading import Word
from .runtime.voices import load_voice

Speed = float | Callable[[int], float]
"""A speaking rate, or a function from the number of phonemes to it."""

Audio = NDArray[np.float32]


def find_artifact(artifact: str | os.PathLike[str] | None) -> str:
    """The folder of the artifact. Raises InputError if none is named."""
    found = artifact if artifact is not None else os.environ.get("KOKORO_ARTIFACT")
    if not found:
        raise InputError(
            "no artifact is named: give artifact=DIR or set KOKORO_ARTIFACT; "
            "to make one: kokoro-pipeline build -o DIR"
        )
    return os.fspath(found)


@dataclass
class Token:
    """A word or mark with the fields of misaki's MToken that kokoro's users read."""

    text: str
    phonemes: str
    whitespace: str
    start_ts: float | None = None
    """Seconds."""
    end_ts: float | None = None


class KModel:
    """An artifact as a model; see `kokoro.KModel`.

    Stock `kokoro.KPipeline(model=...)` takes it for its own, and gets torch tensors.
    """

    @dataclass
    class Output:
        """Audio, float32 [samples], and frames of each token, int64 [tokens + 2]."""

        audio: Any
        pred_dur: Any = None

    device = "cpu"

    def __init__(
        self,
        repo_id: str | None = None,
        config: object = None,
        model: object = None,
        disable_complex: bool = False,
        *,
        artifact: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        seed: int = 0,
    ) -> None:
        """Load the artifact. The first four arguments are kokoro's and mean nothing here.

        Raises what `kokoro_pipeline.load` raises.
        """
        self.synthesizer: Synthesizer = load(find_artifact(artifact), threads=threads)
        self.repo_id = repo_id or "hexgrad/Kokoro-82M"
        self.seed = seed

    @property
    def __class__(self) -> type:
        """kokoro's class where kokoro is imported, so that its `isinstance` holds."""
        stock = getattr(sys.modules.get("kokoro.model"), "KModel", None)
        return stock if stock is not None else KModel

    @__class__.setter
    def __class__(self, value: type) -> None:
        raise TypeError("the class of a model does not change")

    def to(self, *_: object, **__: object) -> KModel:
        """The model: an artifact stays on the device that it was compiled for."""
        return self

    def eval(self) -> KModel:
        """The model, which is never trained."""
        return self

    def __call__(
        self, phonemes: str, ref_s: Any, speed: float = 1, return_output: bool = False
    ) -> Any:
        """Audio, float32 [samples], of phonemes in the style `ref_s`, float32 [1, 256].

        With `return_output` an `Output` of the audio and the frames of each token. Both are torch
        tensors where torch is imported. Raises InputError for phonemes that have no token.
        """
        style = np.asarray(ref_s, np.float32).reshape(1, 1, -1)
        speech = self.speak(phonemes, np.broadcast_to(style, (510, 1, style.shape[-1])), speed)
        output = KModel.Output(_tensor(speech.audio), _tensor(speech.durations))
        return output if return_output else output.audio

    def speak(self, phonemes: str, voice: Any, speed: float) -> Speech:
        """Synthesize phonemes in a voice (name, blend, file or array)."""
        pack = np.ascontiguousarray(voice) if isinstance(voice, np.ndarray) else voice
        return self.synthesizer.synthesize(phonemes, pack, speed, self.seed)


def _tensor(array: NDArray[Any]) -> Any:
    """A torch tensor where torch is imported, since stock kokoro expects one."""
    torch = sys.modules.get("torch")
    return array if torch is None else torch.from_numpy(np.ascontiguousarray(array))


class KPipeline:
    """Text to pieces of audio in one language; see `kokoro.KPipeline`."""

    @dataclass
    class Result:
        """A piece: its text, phonemes, tokens with times, audio and durations."""

        graphemes: str
        phonemes: str
        tokens: list[Token] | None = None
        output: KModel.Output | None = None
        text_index: int | None = None

        @property
        def audio(self) -> Audio | None:
            """float32 [samples], 24,000 a second; None without a model."""
            return None if self.output is None else self.output.audio

        @property
        def pred_dur(self) -> NDArray[np.int64] | None:
            """int64 [tokens + 2]: frames of 600 samples."""
            return None if self.output is None else self.output.pred_dur

        def __iter__(self) -> Iterator[Any]:
            return iter((self.graphemes, self.phonemes, self.audio))

        def __getitem__(self, index: int) -> Any:
            return (self.graphemes, self.phonemes, self.audio)[index]

        def __len__(self) -> int:
            return 3

    def __init__(
        self,
        lang_code: str,
        repo_id: str | None = None,
        model: KModel | bool = True,
        trf: bool = False,
        en_callable: Callable[[str], str] | None = None,
        device: str | None = None,
        *,
        artifact: str | os.PathLike[str] | None = None,
    ) -> None:
        """`lang_code` is kokoro's letter or a code; `model` False reads text without speaking.

        Raises InputError for an unknown language, and for `trf`, `en_callable` and `device`, which
        have no counterpart here.
        """
        for name, value in (("trf", trf), ("en_callable", en_callable), ("device", device)):
            if value:
                raise InputError(
                    f"{name}={value!r} has no counterpart: text is read by rules, and an artifact "
                    "runs on the device that it was built for; leave it out"
                )
        language = find_language(lang_code)
        self.lang_code = language.letter
        self.repo_id = repo_id or "hexgrad/Kokoro-82M"
        self._lang = language.code
        self.model: KModel | None
        if model is True:
            self.model = KModel(repo_id, artifact=artifact)
        else:
            self.model = model or None
        self.voices: dict[str, Audio] = {}

    def load_voice(self, voice: str | Audio, delimiter: str = ",") -> Audio:
        """The voice pack, float32 [510, 1, 256], of a name, a blend of equal parts or an array."""
        if self.model is None:
            raise InputError("a pipeline with model=False has no voices")
        if not isinstance(voice, str):
            return np.asarray(voice, np.float32)
        if voice not in self.voices:
            folder = self.model.synthesizer.path / "voices"
            self.voices[voice] = load_voice(voice.replace(delimiter, ","), folder)
        return self.voices[voice]

    def __call__(
        self,
        text: str | list[str],
        voice: str | Audio | None = None,
        speed: Speed = 1,
        split_pattern: str | None = r"\n+",
        model: KModel | None = None,
    ) -> Iterator[KPipeline.Result]:
        """The pieces of a text, split at `split_pattern` and to at most 510 phonemes.

        Raises ValueError without a voice, InputError for what cannot be spoken.
        """
        chosen = model or self.model
        if chosen is not None and voice is None:
            raise ValueError('specify a voice: pipeline(text, voice="af_heart")')
        if isinstance(text, str):
            text = re.split(split_pattern, text.strip()) if split_pattern else [text]
        for index, part in enumerate(text):
            if part.strip():
                for result in self._part(part, voice, speed, chosen):
                    result.text_index = index
                    yield result

    def _part(
        self, text: str, voice: str | Audio | None, speed: Speed, model: KModel | None
    ) -> Iterator[KPipeline.Result]:
        read = phonemize(text, self._lang)
        for start, end in _chunks(read.phonemes):
            phonemes = read.phonemes[start:end]
            lead = len(phonemes) - len(phonemes.lstrip())
            words = [w.moved(0, -start - lead) for w in read.words if start <= w.offset < end]
            graphemes = text[words[0].start : words[-1].end] if words else ""
            yield self._spoken(graphemes, phonemes.strip(), words, voice, speed, model)

    def generate_from_tokens(
        self,
        tokens: str | list[Token],
        voice: str | Audio | None,
        speed: Speed = 1,
        model: KModel | None = None,
    ) -> Iterator[KPipeline.Result]:
        """The piece of a phoneme string of at most 510 symbols, or of tokens.

        Raises ValueError without a voice or for more phonemes.
        """
        chosen = model or self.model
        if chosen is not None and voice is None:
            raise ValueError('specify a voice: generate_from_tokens(..., voice="af_heart")')
        if isinstance(tokens, str):
            phonemes, graphemes = tokens, ""
        else:
            phonemes = "".join(t.phonemes + t.whitespace for t in tokens).strip()
            graphemes = "".join(t.text + t.whitespace for t in tokens).strip()
        if len(phonemes) > 510:
            raise ValueError(f"phoneme string too long: {len(phonemes)} > 510")
        yield self._spoken(graphemes, phonemes, [], voice, speed, chosen)

    def _spoken(
        self,
        graphemes: str,
        phonemes: str,
        words: list[Word],
        voice: str | Audio | None,
        speed: Speed,
        model: KModel | None,
    ) -> KPipeline.Result:
        tokens = [_token(word, phonemes) for word in words if word.phonemes]
        if model is None:
            return KPipeline.Result(graphemes, phonemes, tokens)
        rate = speed(len(phonemes)) if callable(speed) else speed
        assert voice is not None
        speech = model.speak(phonemes, self.load_voice(voice), rate)
        times = {time.phoneme_offset: time for time in _times(speech, words)}
        for token, word in zip(tokens, (w for w in words if w.phonemes), strict=True):
            if (time := times.get(word.offset)) is not None:
                token.start_ts, token.end_ts = time.start, time.end
        output = KModel.Output(speech.audio, speech.durations)
        return KPipeline.Result(graphemes, phonemes, tokens, output)


@dataclass(frozen=True)
class _Time:
    phoneme_offset: int
    start: float
    end: float


def _times(speech: Speech, words: list[Word]) -> Iterator[_Time]:
    """The times of words and marks, between the middles of the spaces around them."""
    spoken = {}
    position = 0
    for time in speech.phoneme_times:
        position = speech.phonemes.index(time.phoneme, position)
        spoken[position] = time
        position += 1
    for word in words:
        inside = [p for p in range(word.offset, word.offset + len(word.phonemes)) if p in spoken]
        if inside:
            first, last = inside[0], inside[-1]
            start, end = spoken[first].start, spoken[last].end
            before, after = spoken.get(first - 1), spoken.get(last + 1)
            if before is not None and before.phoneme == " ":
                start = (before.start + before.end) / 2
            if after is not None and after.phoneme == " ":
                end = (after.start + after.end) / 2
            yield _Time(word.offset, start, end)


def _token(word: Word, phonemes: str) -> Token:
    behind = phonemes[word.offset + len(word.phonemes) :][:1]
    return Token(word.text, word.phonemes, " " if behind == " " else "")


def _chunks(phonemes: str) -> Iterator[tuple[int, int]]:
    from .config import default_config
    from .runtime.text import Vocabulary

    yield from split_phonemes(phonemes, Vocabulary(default_config().vocab))


class Kokoro:
    """A synthesizer with the interface of `kokoro_onnx.Kokoro`."""

    def __init__(
        self, model_path: str | os.PathLike[str] | None = None, voices_path: object = None
    ) -> None:
        """`model_path` is the artifact's folder, by default $KOKORO_ARTIFACT.

        `voices_path` means nothing here: an artifact holds its voices.
        """
        self._synthesizer = load(find_artifact(model_path))

    def create(
        self,
        text: str,
        voice: str | Audio,
        speed: float = 1.0,
        lang: str = "en-us",
        is_phonemes: bool = False,
        trim: bool = False,
    ) -> tuple[Audio, int]:
        """Audio, float32 [samples], and the sample rate.

        With `is_phonemes` the text is phonemes, and `lang` means nothing. Raises InputError for
        `trim`, an unknown voice or language, and a text with nothing to say.
        """
        _refuse_trim(trim)
        if is_phonemes:
            speech = self._synthesizer.synthesize(text, voice, speed)
        else:
            speech = self._synthesizer.speak(text, voice, lang, speed)
        return speech.audio, SAMPLE_RATE

    async def create_stream(
        self,
        text: str,
        voice: str | Audio,
        speed: float = 1.0,
        lang: str = "en-us",
        is_phonemes: bool = False,
        trim: bool = False,
    ) -> AsyncGenerator[tuple[Audio, int], None]:
        """The audio and sample rate of each piece while the next one is made; see `create`."""
        _refuse_trim(trim)
        pieces = self._synthesizer.astream(
            None if is_phonemes else text,
            voice,
            None if is_phonemes else lang,
            speed,
            phonemes=text if is_phonemes else None,
        )
        async for piece in pieces:
            yield piece.audio, SAMPLE_RATE

    def get_voices(self) -> list[str]:
        """Names of the voices."""
        return sorted(self._synthesizer.voices)

    def get_voice_style(self, name: str) -> Audio:
        """The voice pack, float32 [510, 1, 256]."""
        return load_voice(name, self._synthesizer.path / "voices")


def _refuse_trim(trim: bool) -> None:
    if trim:
        raise InputError("silence at the ends of pieces is not trimmed here: leave trim out")
