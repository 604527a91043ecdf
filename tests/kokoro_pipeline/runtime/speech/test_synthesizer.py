"""Synthesis with the six functions: arithmetic, chunks, determinism, threads, errors."""

from __future__ import annotations

import contextlib
import copy
import importlib
import pickle
import shutil
import threading
import warnings
from dataclasses import replace

import numpy as np
import pytest

import kokoro_pipeline
from kokoro_pipeline.artifact.manifest import MANIFEST_NAME, loads
from kokoro_pipeline.artifact.reader import file_sha256
from kokoro_pipeline.errors import ArtifactError, InputError
from kokoro_pipeline.runtime import Span, UnknownSymbolWarning, UnspokenTextWarning
from kokoro_pipeline.runtime.engine import dispatcher
from kokoro_pipeline.runtime.speech.noise import draw_noise, noise_key
from kokoro_pipeline.runtime.text import Sentence

HELLO = "həlˈoʊ wˈɜːld"
PHONEMIZE = importlib.import_module("kokoro_pipeline.runtime.text.phonemize")


@pytest.fixture(scope="module")
def tts(toy_artifact):
    with kokoro_pipeline.load(toy_artifact, threads=2) as synthesizer:
        yield synthesizer


def expected_speech(tts, reference, phonemes, style, speed, noise):
    """(audio, durations) of one chunk in float64, with kokoro's alignment matrix as a gather."""
    vocabulary = kokoro_pipeline.config.default_config().vocab
    ids = np.array([[0, *(vocabulary[p] for p in phonemes if p in vocabulary), 0]])
    lengths = np.array([ids.shape[1]])
    d_en = reference["bert_forward"](ids, lengths)
    duration, d = reference["duration_forward"](d_en, style[:, 128:], lengths)
    frames = np.maximum(np.rint(duration[0].sum(-1) / speed), 1).astype(int)
    shown = np.repeat(np.arange(len(frames)), frames)
    f0, energy = reference["f0n_forward"](d.swapaxes(1, 2)[:, :, shown], style[:, 128:])
    har = reference["source_forward"](f0, noise(frames.sum()))
    asr = reference["text_encoder_forward"](ids, lengths)[:, :, shown]
    return reference["decoder_forward"](asr, f0, energy, style[:, :128], har)[0], frames


def noise_of(reference, seed, chunk):
    """Draws the noise of a chunk for a number of frames."""
    key = noise_key(seed, chunk)
    return lambda frames: reference["noise_forward"](np.zeros(frames), key)


@pytest.mark.parametrize("speed", [1.0, 0.7, 2.5])
def test_a_chunk_is_the_functions_in_order(tts, toy_reference, toy_artifact, speed):
    speech = tts.synthesize(HELLO, voice="af_heart", speed=speed, seed=3)
    style = np.load(toy_artifact / "voices" / "af_heart.npy")[len(HELLO) - 1]
    audio, frames = expected_speech(
        tts, toy_reference, HELLO, style, speed, noise_of(toy_reference, 3, 0)
    )
    assert speech.durations.tolist() == frames.tolist()
    assert speech.audio.dtype == np.float32
    assert speech.audio.shape == (600 * frames.sum(),)
    np.testing.assert_allclose(speech.audio, audio, rtol=1e-4, atol=1e-4)
    assert speech.durations.dtype == np.int64
    assert (speech.sample_rate, speech.phonemes, speech.seed) == (24000, HELLO, 3)
    assert (speech.voice, speech.speed, speech.synthetic) == ("af_heart", speed, True)
    assert speech.seconds == len(speech.audio) / 24000


def test_durations_without_synthesis(tts):
    for speed in (0.5, 1.0, 3.0):
        durations = tts.predict_durations(HELLO, "af_bella", speed)
        assert durations.dtype == np.int64
        assert np.array_equal(durations, tts.synthesize(HELLO, "af_bella", speed).durations)
    slow = tts.predict_durations(HELLO, speed=0.5)
    assert slow.sum() > tts.predict_durations(HELLO).sum()
    assert len(set(slow.tolist())) > 2


def test_given_noise_is_the_noise(tts):
    frames = int(tts.predict_durations(HELLO).sum())
    seeded = tts.synthesize(HELLO, seed=9)
    given = tts.synthesize(HELLO, noise=draw_noise(tts.functions, 9, 0, frames))
    assert np.array_equal(seeded.audio, given.audio)
    assert given.seed is None
    with pytest.raises(InputError, match=rf"expected float32 \[1, {600 * frames}, 9\]"):
        tts.synthesize(HELLO, noise=np.zeros((1, 600, 9), np.float32))


def test_the_seed_and_nothing_else_changes_the_bits(tts, toy_artifact):
    first = tts.synthesize(HELLO, seed=1).audio
    assert np.array_equal(first, tts.synthesize(HELLO, seed=1).audio)
    assert not np.array_equal(first, tts.synthesize(HELLO, seed=2).audio)
    with kokoro_pipeline.load(toy_artifact, threads=1) as single:
        assert np.array_equal(first, single.synthesize(HELLO, seed=1).audio)


def test_voices_by_name_array_file_and_blend(tts, toy_artifact):
    pack = np.load(toy_artifact / "voices" / "af_bella.npy")
    by_name = tts.synthesize(HELLO, voice="af_bella")
    assert not np.array_equal(by_name.audio, tts.synthesize(HELLO, voice="af_heart").audio)
    for voice in (pack, pack[:, 0], toy_artifact / "voices" / "af_bella.npy"):
        assert np.array_equal(by_name.audio, tts.synthesize(HELLO, voice=voice).audio)
    blend = tts.synthesize(HELLO, voice="af_heart:0.6,af_bella:0.4")
    assert blend.voice == "af_heart:0.6,af_bella:0.4"
    assert not np.array_equal(blend.audio, by_name.audio)
    assert tts.synthesize(HELLO, voice=pack).voice == "array"
    assert tts.voices == ("af_bella", "af_heart")


def long_phonemes(symbols: str) -> str:
    return ". ".join(symbols[i : i + 40] * 3 for i in range(0, 80, 5)) + "."


@pytest.mark.slow
def test_long_input_is_cut_joined_and_accounted_for(tts, toy_reference, toy_artifact, symbols):
    letters = "".join(symbol for symbol in symbols if symbol.isalpha())
    phonemes = long_phonemes(letters)
    assert len(phonemes) > 1020
    speed = 5.0  # of long input, the reference takes most of the time
    speech = tts.synthesize(phonemes, speed=speed, seed=4)
    assert len(speech.chunks) >= 3
    ends = Span(0, 0), Span(0, 0), Span(0, 0)
    pack = np.load(toy_artifact / "voices" / "af_heart.npy")
    for index, chunk in enumerate(speech.chunks):
        spans = chunk.phonemes, chunk.tokens, chunk.samples
        assert [span.start for span in spans] == [end.end for end in ends]
        ends = spans
        text = phonemes[slice(*chunk.phonemes)]
        assert 0 < len(text) <= 510
        assert chunk.tokens.end - chunk.tokens.start == len(text) + 2
        style = pack[len(text) - 1]
        audio, frames = expected_speech(
            tts, toy_reference, text, style, speed, noise_of(toy_reference, 4, index)
        )
        assert speech.durations[slice(*chunk.tokens)].tolist() == frames.tolist()
        np.testing.assert_allclose(speech.audio[slice(*chunk.samples)], audio, rtol=1e-4, atol=1e-4)
    assert [end.end for end in ends] == [
        len(phonemes),
        len(speech.durations),
        len(speech.audio),
    ]
    assert len(speech.durations) == len(phonemes) + 2 * len(speech.chunks)
    assert np.array_equal(tts.predict_durations(phonemes, speed=speed), speech.durations)
    with pytest.raises(InputError, match="noise is for input of one chunk"):
        tts.synthesize(phonemes, noise=np.zeros((1, 600, 9), np.float32))


@pytest.mark.parametrize("count", [1, 509, 510])
def test_up_to_510_phonemes_are_one_chunk(tts, count):
    speech = tts.synthesize("a" * count)
    assert len(speech.chunks) == 1
    assert len(speech.durations) == count + 2


def test_unknown_symbols_are_reported_once_and_in_the_result(tts):
    phonemes = "h7ə\U0001f600l7"
    with pytest.warns(UnknownSymbolWarning, match=r"3 symbols .*U\+0037") as caught:
        speech = tts.synthesize(phonemes)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert [(u.symbol, u.position) for u in speech.unknown] == [
        ("7", 1),
        ("\U0001f600", 3),
        ("7", 5),
    ]
    assert len(speech.durations) == 3 + 2
    assert speech.phonemes == phonemes
    with pytest.warns(UnknownSymbolWarning):
        assert len(tts.predict_durations(phonemes)) == 5


def test_text_is_phonemized_and_spoken(tts, monkeypatch):
    asked = []

    def read_text(text: str, lang: str, lexicon: None) -> list[Sentence]:
        asked.append((text, lang))
        return [Sentence(HELLO, ())]

    monkeypatch.setattr(PHONEMIZE, "read_text", read_text)
    speech = tts.speak("Hello world", voice="af_bella", lang="en-gb", speed=0.9, seed=5)
    assert asked == [("Hello world", "en-gb")]
    assert speech.phonemes == HELLO
    assert np.array_equal(
        speech.audio, tts.synthesize(HELLO, voice="af_bella", speed=0.9, seed=5).audio
    )
    with pytest.raises(InputError, match="text is bytes"):
        tts.speak(b"Hello")


def test_text_without_phonemes_is_reported(tts, monkeypatch):
    result = Sentence(HELLO, (), ("日",))
    monkeypatch.setattr(PHONEMIZE, "read_text", lambda text, lang, lexicon: [result])
    with pytest.warns(UnspokenTextWarning, match="no phonemes: 日") as caught:
        speech = tts.speak("Hello 日")
    assert caught[0].filename == __file__
    assert speech.unspoken == ("日",)


def test_an_unsupported_language_says_so(tts):
    with pytest.raises(InputError, match="not supported"):
        tts.speak("Bonjour", lang="tlh")


def test_known_symbols_are_not_warned_about(tts):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tts.synthesize(HELLO).unknown == ()


def test_more_unknown_symbols_than_a_chunk_holds(tts):
    with pytest.warns(UnknownSymbolWarning, match="600 symbols .* and 595 more"):
        speech = tts.synthesize("a" + "7" * 600 + "b")
    assert len(speech.durations) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"phonemes": ""}, "phonemes are empty"),
        ({"phonemes": " \n"}, "phonemes are empty"),
        ({"phonemes": "777"}, r"nothing to say: 3 symbols are not in the model's vocabulary"),
        ({"phonemes": "7 7"}, "nothing to say"),
        ({"phonemes": None}, "phonemes is NoneType"),
        ({"speed": 0}, "speed is 0, expected a number from 0.1 to 10"),
        ({"speed": float("nan")}, "speed is nan"),
        ({"speed": float("inf")}, "speed is inf"),
        ({"speed": -1.0}, "speed is -1.0"),
        ({"speed": "1.0"}, "speed is '1.0'"),
        ({"speed": 10.01}, "speed is 10.01"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 0.5}, "seed is 0.5"),
        ({"voice": "af_hart"}, "af_heart"),
        ({"voice": np.zeros((510, 255), np.float32)}, "510"),
        ({"voice": np.full((510, 1, 256), np.nan, np.float32)}, "NaN"),
    ],
)
def test_bad_input_is_refused(tts, arguments, message):
    with pytest.raises(InputError, match=message):
        tts.synthesize(**{"phonemes": HELLO, **arguments})
    assert len(tts.synthesize(HELLO).audio)


def test_more_frames_than_a_chunk_may_last_are_refused(tts):
    with pytest.raises(InputError, match=r"at speed 0.1 last \d+ frames .* limit of 8192"):
        tts.predict_durations("a" * 510, speed=0.1)


def test_a_chunk_is_one_job_of_the_thread_that_calls_the_functions(tts, symbols, monkeypatch):
    """Each further change of threads takes as long as a small function."""
    here, changes = threading.current_thread(), []
    run = dispatcher.Dispatcher.run

    def counted(self, job):
        changes.append(threading.current_thread() is here)
        return run(self, job)

    monkeypatch.setattr(dispatcher.Dispatcher, "run", counted)
    speech = tts.synthesize("a " * 400, "af_heart")
    assert len(speech.chunks) > 1
    assert sum(changes) == len(speech.chunks) < len(changes)


def test_what_a_job_in_turn_raises_is_raised_and_the_next_one_runs(tts):
    def fail():
        raise LookupError(threading.current_thread().name)

    with pytest.raises(LookupError, match="kokoro-tvm"):
        tts.in_turn(fail)
    assert tts.in_turn(lambda: tts.in_turn(lambda: 5)) == 5


def test_eight_threads_give_the_bits_of_one(tts, symbols):
    requests = [(symbols[i : i + 9 + 3 * i], i) for i in range(8)]
    expected = [tts.synthesize(phonemes, seed=seed).audio for phonemes, seed in requests]
    failures = []

    def work(index: int) -> None:
        phonemes, seed = requests[index]
        for _ in range(5):
            if not np.array_equal(tts.synthesize(phonemes, seed=seed).audio, expected[index]):
                failures.append(index)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_two_synthesizers_of_one_artifact_do_not_disturb_each_other(tts, toy_artifact):
    expected = tts.synthesize(HELLO).audio
    with kokoro_pipeline.load(toy_artifact, threads=3) as other:
        assert other.threads == 3
        assert np.array_equal(other.synthesize(HELLO).audio, expected)
    assert np.array_equal(tts.synthesize(HELLO).audio, expected)


def test_synthesizers_at_the_same_time_give_the_bits_of_one(tts, toy_artifact):
    """Each has a machine and a pool of its own; together they ask for more cores than there are."""
    expected = tts.synthesize(HELLO).audio
    start = threading.Barrier(3)
    spoken = []

    def work(other):
        start.wait(30)
        spoken.extend(other.synthesize(HELLO).audio for _ in range(5))

    with contextlib.ExitStack() as stack:
        others = [
            stack.enter_context(kokoro_pipeline.load(toy_artifact, threads=threads))
            for threads in (1, 2, 3)
        ]
        threads = [threading.Thread(target=work, args=(other,)) for other in others]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(spoken) == 15
    assert all(np.array_equal(audio, expected) for audio in spoken)


@pytest.mark.parametrize("directory", [None, 3, b"folder"])
def test_a_folder_that_is_no_path_is_refused(directory):
    with pytest.raises(InputError, match="expected the path of its folder"):
        kokoro_pipeline.load(directory)


def test_a_synthesizer_is_not_pickled_or_copied(tts):
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(InputError, match="load.* in the other process"):
            attempt(tts)


def test_after_close_a_call_says_so(toy_artifact):
    tts = kokoro_pipeline.load(str(toy_artifact), threads=1)
    assert "threads=1" in repr(tts)
    tts.close()
    assert "closed" in repr(tts)
    with pytest.raises(InputError, match="closed; load the artifact again"):
        tts.synthesize(HELLO)


def test_functions_outlive_the_synthesizer(toy_artifact):
    function = kokoro_pipeline.load(toy_artifact, threads=1).functions["bert_forward"]
    assert function(np.zeros((1, 3), np.int64), np.array([3])).shape == (1, 512, 3)


def change_manifest(artifact, tmp_path, change):
    folder = tmp_path / "changed"
    shutil.copytree(artifact, folder)
    file = folder / MANIFEST_NAME
    manifest = change(loads(file.read_text("utf-8")), folder)
    file.write_text(manifest.dumps(), "utf-8")
    return folder


def test_an_artifact_with_some_functions_calls_those_and_refuses_the_rest(toy_artifact, tmp_path):
    def keep_two(manifest, _):
        kept = {name: manifest.functions[name] for name in ("bert_forward", "duration_forward")}
        return replace(manifest, functions=kept)

    with kokoro_pipeline.load(change_manifest(toy_artifact, tmp_path, keep_two)) as tts:
        assert len(tts.predict_durations(HELLO)) == len(HELLO) + 2
        with pytest.raises(ArtifactError, match=r"has no text_e.*, noise_forward: .*--components"):
            tts.synthesize(HELLO)


def test_a_function_that_only_the_manifest_has_is_refused(toy_artifact, tmp_path):
    def add_one(manifest, _):
        more = {**manifest.functions, "vocoder_forward": manifest.functions["bert_forward"]}
        return replace(manifest, functions=more)

    with pytest.raises(ArtifactError, match="no function vocoder_forward"):
        kokoro_pipeline.load(change_manifest(toy_artifact, tmp_path, add_one))


def test_outputs_that_contradict_the_manifest_are_refused(toy_artifact, tmp_path):
    def swap(manifest, _):
        spec = manifest.functions["bert_forward"]
        wrong = replace(spec.outputs[0], shape=("B", 511, "n"))
        functions = {**manifest.functions, "bert_forward": replace(spec, outputs=(wrong,))}
        return replace(manifest, functions=functions)

    with (
        kokoro_pipeline.load(change_manifest(toy_artifact, tmp_path, swap)) as tts,
        pytest.raises(ArtifactError, match="library and manifest do not belong together"),
    ):
        tts.synthesize(HELLO)


def test_a_library_that_is_no_vm_is_refused(toy_artifact, tmp_path, foreign_library):
    def replace_library(manifest, folder):
        library = folder / manifest.library
        shutil.copy(foreign_library, library)
        entry = replace(
            manifest.files[manifest.library],
            sha256=file_sha256(library),
            size=library.stat().st_size,
        )
        return replace(manifest, files={**manifest.files, manifest.library: entry})

    with pytest.raises(ArtifactError, match="cannot be loaded as a compiled model"):
        kokoro_pipeline.load(change_manifest(toy_artifact, tmp_path, replace_library))


def test_non_finite_audio_is_an_error_not_a_sound(toy_artifact, tmp_path):
    def poison(manifest, folder):
        spec = next(
            p for p in manifest.functions["decoder_forward"].parameters if "window" in p.name
        )
        file = folder / "params.bin"
        raw = bytearray(file.read_bytes())
        raw[spec.offset : spec.offset + 4] = np.float32(np.nan).tobytes()
        file.write_bytes(raw)
        return manifest

    with (
        kokoro_pipeline.load(change_manifest(toy_artifact, tmp_path, poison)) as tts,
        pytest.raises(
            ArtifactError, match=r"samples that are not finite; .*kokoro-pipeline verify"
        ),
    ):
        tts.synthesize(HELLO)


@pytest.fixture(scope="session")
def foreign_library() -> object:
    """A shared library that is not a model: an extension module of numpy."""
    return np.linalg._umath_linalg.__file__
