"""`say`: what is passed to the synthesizer, what is rejected before, what is written."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import signal
import sys
import wave
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kokoro_pipeline import runtime
from kokoro_pipeline.cli import cached_artifact
from kokoro_pipeline.errors import EnvironmentFault
from kokoro_pipeline.runtime import ChunkSpans, Span, Speech
from kokoro_pipeline.runtime.speech.pieces import Piece
from kokoro_pipeline.runtime.speech.request import SpeechRequest
from kokoro_pipeline.runtime.text import Sentence, Word
from kokoro_pipeline.runtime.text.vocabulary import UnknownSymbol

# The function of this name hides the module.
UNKNOWN = UnknownSymbol("@", 3)
PHONEMIZE = importlib.import_module("kokoro_pipeline.runtime.text.phonemize")


class Spoken:
    """A synthesizer that records its requests and returns a hum for each piece."""

    def __init__(
        self,
        *,
        synthetic: bool = False,
        peak: float = 0.5,
        ends: BaseException | signal.Signals | None = None,
    ) -> None:
        self.requests: list[SpeechRequest] = []
        self.phonemes: list[str] = []
        self.loaded: list[tuple[Path, int | None, str]] = []
        self.synthetic = synthetic
        self.peak = peak
        self.ends = ends

    def load(self, artifact: Path, threads: int | None = None, device: str = "") -> Spoken:
        self.loaded.append((artifact, threads, device))
        return self

    @contextlib.contextmanager
    def open_stream(
        self, request: SpeechRequest, pieces: Iterator[Piece]
    ) -> Iterator[Iterator[Speech]]:
        self.requests.append(request)
        yield self._spoken(request, pieces)

    def _spoken(self, request: SpeechRequest, pieces: Iterator[Piece]) -> Iterator[Speech]:
        for piece in pieces:
            self.phonemes.append(piece.phonemes)
            yield self._speech(request, piece)
            if isinstance(self.ends, signal.Signals):
                signal.raise_signal(self.ends)
            elif self.ends is not None:
                raise self.ends

    def __enter__(self) -> Spoken:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def _speech(self, request: SpeechRequest, piece: Piece) -> Speech:
        return Speech(
            audio=np.linspace(-self.peak, self.peak, 1200, dtype=np.float32),
            durations=np.array([1] * len(piece.phonemes) + [1], np.int64),
            phonemes=piece.phonemes,
            chunks=(
                ChunkSpans(
                    Span(0, len(piece.phonemes)),
                    Span(0, len(piece.phonemes) + 1),
                    Span(0, 1200),
                    tuple(p for p in range(len(piece.phonemes)) if p != UNKNOWN.position),
                ),
            ),
            unknown=(UNKNOWN,),
            unspoken=piece.unspoken,
            voice=str(request.voice),
            speed=request.speed,
            seed=request.seed,
            synthetic=self.synthetic,
            read=piece.words,
        )


@pytest.fixture(autouse=True)
def read_text(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Reads every text as one word a line, and records its arguments."""
    asked: list[tuple[str, str]] = []

    def read_text(text: Any, lang: str, lexicon: None) -> Iterator[Sentence]:
        whole = text if isinstance(text, str) else "".join(text)
        asked.append((whole, lang))
        for line in whole.splitlines():
            start = whole.index(line)
            word = Word(line, "həlˈoʊ", start, start + len(line), 0)
            yield Sentence("həlˈoʊ", (word,), ("☃",) if "☃" in line else (), ends_paragraph=True)

    monkeypatch.setattr(PHONEMIZE, "read_text", read_text)
    return asked


@pytest.fixture
def voice_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Spoken]:
    def install(**options: Any) -> Spoken:
        spoken = Spoken(**options)
        monkeypatch.setattr(runtime, "load", spoken.load)
        return spoken

    return install


def test_text_and_every_option_reach_the_synthesizer(run_cli, voice_of, read_text, tmp_path):
    spoken = voice_of()
    file = tmp_path / "hello.wav"
    ended = run_cli(
        *("say", "Hello world", "--artifact", "DIR", "-o", file, "--voice", "af_bella"),
        *("--lang", "en-gb", "--speed", "1.5", "--seed", "7", "--threads", "3", "--device", "cpu"),
    )
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.splitlines() == [
        "kokoro-pipeline: warning: left unspoken, not in the model's vocabulary: "
        "'@' U+0040 (commercial at) at 3"
    ]
    assert spoken.loaded == [(Path("DIR"), 3, "cpu")]
    assert read_text == [("Hello world", "en-gb")]
    (request,) = spoken.requests
    assert (request.voice, request.speed, request.seed) == ("af_bella", 1.5, 7)
    assert spoken.phonemes == ["həlˈoʊ"]
    with wave.open(str(file)) as written:
        assert written.getparams()[:4] == (1, 2, 24_000, 1200)


def test_phonemes_are_spoken_as_they_are(run_cli, voice_of, read_text, tmp_path):
    spoken = voice_of()
    source = tmp_path / "phonemes.txt"
    source.write_text("həlˈoʊ  wˈɜːld\nnˈoʊ\n", "utf-8")
    words = ("say", "--phonemes", "-f", source, "--artifact", "DIR", "-o", tmp_path / "o.wav")
    assert run_cli(*words).code == 0
    assert read_text == []
    (request,) = spoken.requests
    assert (request.voice, request.speed, request.seed) == ("af_heart", 1.0, 0)
    assert request.phonemes == "həlˈoʊ  wˈɜːld nˈoʊ"


def test_what_has_no_reading_is_said(run_cli, voice_of, tmp_path):
    voice_of()
    ended = run_cli("say", "Hello ☃", "--artifact", "DIR", "-o", tmp_path / "o.wav")
    assert ended.code == 0
    assert "left unspoken, for it has no phonemes: ☃" in ended.err


def test_float_writes_float_samples(run_cli, voice_of, tmp_path):
    voice_of()
    file = tmp_path / "hello.wav"
    assert run_cli("say", "Hello", "--artifact", "DIR", "--float", "-o", file).code == 0
    content = file.read_bytes()
    assert content[20:22] == b"\x03\x00"  # WAVE_FORMAT_IEEE_FLOAT
    samples = np.frombuffer(content[content.index(b"data") + 8 :], "<f4")
    np.testing.assert_array_equal(samples, np.linspace(-0.5, 0.5, 1200, dtype=np.float32))


def test_a_dash_writes_wav_bytes_to_stdout_and_nothing_else(run_cli, voice_of, monkeypatch):
    voice_of(synthetic=True)
    buffer = io.BytesIO()
    stdout = SimpleNamespace(buffer=buffer, isatty=lambda: False, flush=lambda: None)
    monkeypatch.setattr(sys, "stdout", stdout)
    ended = run_cli("say", "Hello", "--artifact", "DIR", "-o", "-")
    assert ended.code == 0
    content = buffer.getvalue()
    assert content[:8] == b"RIFF\xff\xff\xff\xff"  # the length is not known yet
    assert len(content) == 44 + 2 * 1200
    assert "NOT SPEECH" in ended.err


def test_synthetic_weights_are_said_every_time(run_cli, voice_of, tmp_path):
    voice_of(synthetic=True)
    ended = run_cli("say", "Hello", "--artifact", "DIR", "-o", tmp_path / "o.wav")
    assert ended.code == 0
    assert "SYNTHETIC" in ended.err
    assert "NOT SPEECH" in ended.err
    assert "kokoro-pipeline build --weights hexgrad/Kokoro-82M" in ended.err


def test_clipping_is_said(run_cli, voice_of, tmp_path):
    voice_of(peak=2.0)
    ended = run_cli("say", "Hello", "--artifact", "DIR", "-o", tmp_path / "o.wav")
    assert "samples were louder than full scale" in ended.err


def test_json_tells_everything_but_the_samples(run_cli, voice_of, tmp_path):
    voice_of(synthetic=True)
    file = tmp_path / "o.wav"
    ended = run_cli("say", "Hello ☃", "--artifact", "DIR", "-o", file, "--json")
    told = json.loads(ended.out)
    assert told["loading_seconds"] >= 0
    assert told["synthesis_seconds"] >= 0
    del told["loading_seconds"], told["synthesis_seconds"]
    times = [told["words"][0].pop(key) for key in ("start", "end")]
    assert times == [0.0, 0.125]
    assert told == {
        "output": str(file),
        "artifact": "DIR",
        "synthetic": True,
        "voice": "af_heart",
        "lang": "en-us",
        "speed": 1.0,
        "seed": 0,
        "sample_rate": 24_000,
        "samples": 1200,
        "seconds": 0.05,
        "phonemes": "həlˈoʊ",
        "durations": [1] * 7,
        "chunks": [
            {
                "phonemes": {"start": 0, "end": 6},
                "tokens": {"start": 0, "end": 7},
                "samples": {"start": 0, "end": 1200},
                "symbols": [0, 1, 2, 4, 5],
            }
        ],
        "marks": [],
        "words": [{"text": "Hello ☃", "phonemes": "həlˈoʊ", "span": [0, 7]}],
        "unknown": [{"symbol": "@", "position": 3}],
        "unspoken": ["☃"],
        "clipped": 0,
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["", "-o", "o.wav"], "the text is empty"),
        ([" \n\t", "-o", "o.wav"], "the text is empty"),
        (["Hello", "-o", "o.wav", "--speed", "0"], "speed is 0.0"),
        (["Hello", "-o", "o.wav", "--speed", "nan"], "speed is nan"),
        (["Hello", "-o", "o.wav", "--speed", "-1"], "speed is -1.0"),
        (["Hello", "-o", "absent/o.wav"], "absent"),
        (["Hello", "-o", "."], "folder"),
        (["Hello", "-o", "o.aiff"], ".aiff"),
        (["Hello", "-o", "o.flac", "--float"], "--float is for WAV"),
        (["-f", "absent.txt", "-o", "o.wav"], "absent.txt"),
        (["Hello", "-o", "o.wav", "--lang", "tlh"], "language 'tlh' is not supported"),
        (["Hello", "-o", "o.wav", "--format", "flac"], "says wav, and the format is flac"),
        (["Hello", "-o", "o.wav", "--subtitles", "o.txt"], "unknown subtitles '.txt'"),
        (["Hello", "-o", "o.wav", "--subtitles", "absent/o.srt"], "no folder absent"),
        (["Hello", "-o", "o.wav", "--pause-paragraph", "31557600000"], "pause_paragraph is 3"),
        (["Hello", "-o", "absent/"], "absent/: it names a folder"),
        (["Hello", "-o", "o.wav", "--subtitles", "."], "unknown subtitles ''"),
    ],
    ids=str,
)
def test_bad_input_is_refused_before_anything_is_loaded_or_built(
    run_cli, voice_of, tmp_path, monkeypatch, words, said
):
    spoken = voice_of()
    built: list[str] = []
    monkeypatch.setattr(cached_artifact, "cached_artifact", lambda *_: built.append("built"))
    monkeypatch.chdir(tmp_path)
    ended = run_cli("say", *words)
    assert ended.code == 3
    assert said in ended.err
    assert (spoken.loaded, built) == ([], [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-f", "circle.srt", "-o", "o.wav"], "cannot read the text circle.srt: Too many levels"),
        (["Hello", "-o", "circle.wav"], "cannot write circle.wav: Too many levels"),
        (
            ["Hello", "-o", "o.wav", "--subtitles", "circle.srt"],
            "cannot write circle.srt: Too many",
        ),
        (["Hello", "-o", "o.wav", "--lexicon", "circle.tsv"], "circle.tsv: Too many levels"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_links_in_a_circle_are_told_before_it_speaks(
    run_cli, voice_of, tmp_path, monkeypatch, words, said
):
    spoken = voice_of()
    monkeypatch.chdir(tmp_path)
    for name in ("circle.srt", "circle.wav", "circle.tsv"):
        Path(name).symlink_to(name)
    ended = run_cli("say", *words, "--artifact", "kokoro")
    assert (ended.code, spoken.loaded) == (3, [])
    assert said in ended.err and "bug" not in ended.err


@pytest.mark.parametrize(
    ("words", "weights"),
    [([], "hexgrad/Kokoro-82M"), (["--weights", "synthetic"], "synthetic")],
    ids=str,
)
def test_without_an_artifact_it_speaks_with_one_of_the_cache(
    run_cli, voice_of, tmp_path, monkeypatch, words, weights
):
    spoken = voice_of()
    asked: list[str] = []

    def cached(spec: str, _console: object) -> Path:
        asked.append(spec)
        return Path("CACHED")

    monkeypatch.setattr(cached_artifact, "cached_artifact", cached)
    assert run_cli("say", "Hello", "-o", tmp_path / "o.wav", *words).code == 0
    assert asked == [weights]
    assert spoken.loaded == [(Path("CACHED"), None, "auto")]


def test_weights_out_of_reach_end_in_an_error_never_in_synthetic_speech(
    run_cli, voice_of, tmp_path, monkeypatch
):
    spoken = voice_of()

    def unreachable(*_: object) -> Path:
        raise EnvironmentFault("the hub is out of reach: set HF_ENDPOINT")

    monkeypatch.setattr(cached_artifact, "cached_artifact", unreachable)
    file = tmp_path / "o.wav"
    ended = run_cli("say", "Hello", "-o", file)
    assert ended.code == 3
    assert ended.err == "kokoro-pipeline: error: the hub is out of reach: set HF_ENDPOINT\n"
    assert spoken.loaded == []
    assert not file.exists()


@pytest.mark.parametrize("words", [["Hello"], ["Hello", "-o", "-", "--json"]], ids=str)
def test_somewhere_it_has_to_go(run_cli, words):
    assert run_cli("say", *words).code == 2


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        (KeyboardInterrupt(), 130),
        (EnvironmentFault("gone"), 3),
        (signal.SIGTERM, 143),
        (signal.SIGHUP, 129),
    ],
    ids=repr,
)
@pytest.mark.parametrize("exists", [False, True])
def test_what_was_said_before_an_end_is_a_valid_file(
    run_cli, voice_of, tmp_path, ends, code, exists
):
    """An older file stays, with its subtitles, and the beginning is beside it with its own."""
    voice_of(ends=ends)
    file, partial = tmp_path / "o.wav", tmp_path / "o.partial.wav"
    subtitles = tmp_path / "o.srt"
    if exists:
        file.write_bytes(b"mine")
        subtitles.write_text("mine")
    ended = run_cli("say", "One\nTwo", "--artifact", "DIR", "-o", file, "--subtitles", subtitles)
    assert ended.code == code
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    kept = partial if exists else file
    assert f"{kept} holds the first 0.050 s of audio" in ended.err
    with wave.open(str(kept)) as written:
        assert written.getnframes() == 1200
    names = {"o.wav", "o.srt", *(("o.partial.wav", "o.partial.srt") if exists else ())}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert "One" in (tmp_path / "o.partial.srt" if exists else subtitles).read_text()
    assert not exists or (file.read_bytes(), subtitles.read_text()) == (b"mine", "mine")


@pytest.mark.parametrize(
    "words",
    [
        ["Hello", "-o", "x.json", "--format", "wav", "--subtitles", "x.json"],
        ["-f", "x.json", "-o", "./x.json", "--format", "wav"],
        ["Hello", "-o", "x.json", "--format", "wav", "--lexicon", "x.json"],
        ["-f", "x.json", "-o", "o.wav", "--subtitles", "link.json"],
    ],
    ids=" ".join,
)
def test_no_file_is_named_twice(run_cli, voice_of, tmp_path, monkeypatch, words):
    """What is read would be replaced, or the audio by its subtitles."""
    voice_of()
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "x.json"
    file.write_text("{}")
    (tmp_path / "link.json").symlink_to(file)
    ended = run_cli("say", *words, "--artifact", "DIR")
    assert (ended.code, file.read_text()) == (2, "{}")
    assert "name the same file" in ended.err


def test_a_file_grows_with_the_pieces(run_cli, voice_of, tmp_path, monkeypatch):
    voice = voice_of()
    file = tmp_path / "o.wav"
    sizes: list[int] = []
    spoken = voice._speech

    def watched(*arguments: Any) -> Speech:
        sizes.append(file.stat().st_size)
        return spoken(*arguments)

    monkeypatch.setattr(voice, "_speech", watched)
    assert run_cli("say", "One\nTwo\nThree", "--artifact", "DIR", "-o", file).code == 0
    assert sizes == [0, 44 + 2400, 44 + 4800]
    with wave.open(str(file)) as written:
        assert written.getnframes() == 3600


def test_warnings_are_given_once(run_cli, voice_of, tmp_path):
    voice_of()
    text = "\n".join(["One ☃"] * 20)
    ended = run_cli("say", text, "--artifact", "DIR", "-o", tmp_path / "o.wav")
    assert ended.err.count("left unspoken, for it") == 1
    assert "and 15 more" in ended.err
    assert ended.err.count("not in the model's vocabulary") == 1


def test_play_without_a_file(run_cli, voice_of, monkeypatch):
    heard: list[np.ndarray] = []
    ended: list[str] = []

    class OutputStream:
        def __init__(self, **options: Any) -> None:
            assert options == {"samplerate": 24_000, "channels": 1, "dtype": "float32"}

        start = close = lambda self: None

        def write(self, samples: np.ndarray) -> None:
            heard.append(samples)

        def stop(self) -> None:
            ended.append("stop")

        def abort(self) -> None:
            ended.append("abort")

    module = SimpleNamespace(
        OutputStream=OutputStream, PortAudioError=OSError, check_output_settings=lambda: None
    )
    monkeypatch.setitem(sys.modules, "sounddevice", module)
    voice_of(peak=2.0)
    assert run_cli("say", "One\nTwo", "--artifact", "DIR", "--play").code == 0
    assert [samples.shape for samples in heard] == [(1200, 1)] * 2
    assert max(np.abs(samples).max() for samples in heard) == 1.0
    assert ended == ["stop"]
    voice_of(ends=KeyboardInterrupt())
    assert run_cli("say", "One", "--artifact", "DIR", "--play").code == 130
    assert ended == ["stop", "abort"]


def test_playing_without_its_extra_or_a_device(run_cli, monkeypatch):
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    ended = run_cli("say", "One", "--artifact", "DIR", "--play")
    assert ended.code == 3
    assert "pip install 'tvm-kokoro[audio]'" in ended.err

    def refuse() -> None:
        raise ValueError("no default output device")

    module = SimpleNamespace(PortAudioError=OSError, check_output_settings=refuse)
    monkeypatch.setitem(sys.modules, "sounddevice", module)
    ended = run_cli("say", "One", "--artifact", "DIR", "--play")
    assert ended.code == 3
    assert "no default output device" in ended.err
