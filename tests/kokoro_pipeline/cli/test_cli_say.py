"""`say`: what is passed to the synthesizer, what is rejected before, what is written."""

from __future__ import annotations

import importlib
import io
import json
import sys
import wave
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kokoro_pipeline import runtime
from kokoro_pipeline.cli import cached_artifact
from kokoro_pipeline.errors import EnvironmentFault, InputError
from kokoro_pipeline.runtime import ChunkSpans, Span, Speech
from kokoro_pipeline.runtime.text import Phonemized, Word
from kokoro_pipeline.runtime.text.vocabulary import UnknownSymbol

# The function of this name hides the module.
PHONEMIZE = importlib.import_module("kokoro_pipeline.runtime.text.phonemize")


class Spoken:
    """A synthesizer that records its arguments and returns a hum."""

    def __init__(self, *, synthetic: bool = False, peak: float = 0.5) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.loaded: list[tuple[Path, int | None, str]] = []
        self.synthetic = synthetic
        self.peak = peak

    def load(self, artifact: Path, threads: int | None = None, device: str = "") -> Spoken:
        self.loaded.append((artifact, threads, device))
        return self

    def synthesize(self, phonemes: str, **options: Any) -> Speech:
        self.calls.append((phonemes, options))
        return self._speech(phonemes, options)

    def __enter__(self) -> Spoken:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def _speech(self, phonemes: str, options: dict[str, Any]) -> Speech:
        return Speech(
            audio=np.linspace(-self.peak, self.peak, 1200, dtype=np.float32),
            durations=np.array([1, 1], np.int64),
            phonemes=phonemes,
            chunks=(ChunkSpans(Span(0, len(phonemes)), Span(0, 2), Span(0, 1200)),),
            unknown=(UnknownSymbol("@", 3),),
            voice=options["voice"],
            speed=options["speed"],
            seed=options["seed"],
            synthetic=self.synthetic,
        )


@pytest.fixture(autouse=True)
def read_text(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Reads every text as one word, and records its arguments."""
    asked: list[tuple[str, str]] = []

    def phonemize(text: str, lang: str = "en-us") -> Phonemized:
        asked.append((text, lang))
        if lang == "fr":
            raise InputError("language 'fr' is not supported: other languages come later")
        return Phonemized("həlˈoʊ", (Word("hello", "həlˈoʊ"),), ("☃",) if "☃" in text else ())

    monkeypatch.setattr(PHONEMIZE, "phonemize", phonemize)
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
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert spoken.loaded == [(Path("DIR"), 3, "cpu")]
    assert read_text == [("Hello world", "en-gb")]
    assert spoken.calls == [("həlˈoʊ", {"voice": "af_bella", "speed": 1.5, "seed": 7})]
    with wave.open(str(file)) as written:
        assert written.getparams()[:4] == (1, 2, 24_000, 1200)


def test_phonemes_are_spoken_as_they_are(run_cli, voice_of, read_text, tmp_path):
    spoken = voice_of()
    source = tmp_path / "phonemes.txt"
    source.write_text("həlˈoʊ  wˈɜːld\nnˈoʊ\n", "utf-8")
    words = ("say", "--phonemes", "-f", source, "--artifact", "DIR", "-o", tmp_path / "o.wav")
    assert run_cli(*words).code == 0
    assert read_text == []
    options = {"voice": "af_heart", "speed": 1.0, "seed": 0}
    assert spoken.calls == [("həlˈoʊ  wˈɜːld nˈoʊ", options)]


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
    buffer.seek(0)
    with wave.open(buffer) as written:
        assert written.getnframes() == 1200
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
    assert told == {
        "output": str(file),
        "artifact": "DIR",
        "synthetic": True,
        "voice": "af_heart",
        "speed": 1.0,
        "seed": 0,
        "sample_rate": 24_000,
        "samples": 1200,
        "seconds": 0.05,
        "phonemes": "həlˈoʊ",
        "durations": [1, 1],
        "chunks": [
            {
                "phonemes": {"start": 0, "end": 6},
                "tokens": {"start": 0, "end": 2},
                "samples": {"start": 0, "end": 1200},
            }
        ],
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
        (["Bonjour", "-o", "o.wav", "--lang", "fr"], "other languages come later"),
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
