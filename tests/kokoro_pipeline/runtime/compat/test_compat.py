"""The interfaces of kokoro and kokoro-onnx over an artifact, and stock kokoro over our model."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

import kokoro_pipeline
from kokoro_pipeline.compat import KModel, Kokoro, KPipeline, find_artifact
from kokoro_pipeline.errors import InputError

TEXT = "The sky above the port was grey.\nIt costs $3.50, my friend!"


@pytest.fixture(scope="module")
def model(toy_artifact):
    return KModel(artifact=toy_artifact)


@pytest.fixture
def pipeline(model):
    return KPipeline(lang_code="a", model=model)


def test_the_example_of_kokoros_readme(pipeline, tmp_path):
    soundfile = pytest.importorskip("soundfile")
    generator = pipeline(TEXT, voice="af_heart", speed=1, split_pattern=r"\n+")
    seen = []
    for i, (gs, ps, audio) in enumerate(generator):
        seen.append((gs, ps))
        soundfile.write(tmp_path / f"{i}.wav", audio, 24000)
        assert len(soundfile.read(tmp_path / f"{i}.wav")[0]) == len(audio)
    assert [gs for gs, _ in seen] == TEXT.split("\n")
    assert all(ps for _, ps in seen)


def test_results_have_kokoros_fields(pipeline, model):
    (result,) = pipeline("It costs $3.50, my friend!", voice="af_heart")
    assert (result.text_index, len(result)) == (0, 3)
    assert result[0] == result.graphemes
    assert result.audio.dtype == np.float32
    assert len(result.audio) == 600 * result.pred_dur.sum()
    assert len(result.pred_dur) == len(result.phonemes) + 2
    assert "".join(t.phonemes + t.whitespace for t in result.tokens) == result.phonemes
    assert "$3.50" in [t.text for t in result.tokens]
    times = [t for token in result.tokens for t in (token.start_ts, token.end_ts)]
    assert times == sorted(times)
    assert np.array_equal(result.audio, model.synthesizer.synthesize(result.phonemes).audio)


def test_token_times_are_those_of_kokoro(pipeline):
    torch = pytest.importorskip("torch")
    stock = pytest.importorskip("kokoro.pipeline").KPipeline
    (result,) = pipeline("Hello there, my friend; it is so.", voice="af_heart")
    ours = [(t.start_ts, t.end_ts) for t in result.tokens]
    for token in result.tokens:
        token.start_ts = token.end_ts = None
    stock.join_timestamps(result.tokens, torch.from_numpy(result.pred_dur))
    assert [pytest.approx((t.start_ts, t.end_ts)) for t in result.tokens] == ours


def test_quiet_pipelines_read_without_a_model():
    (result,) = KPipeline(lang_code="b", model=False)("Hello there.")
    assert result.phonemes
    assert result.audio is None and result.pred_dur is None


def test_long_texts_are_cut_and_nothing_is_lost(pipeline):
    text = "This is a sentence of some length that is said again and again. " * 20
    results = list(pipeline(text, voice="af_heart"))
    assert len(results) >= 2
    assert all(len(r.phonemes) <= 510 for r in results)
    assert "".join("".join(r.graphemes.split()) for r in results) == "".join(text.split())


def test_phonemes_and_tokens(pipeline):
    (plain,) = pipeline.generate_from_tokens("həlˈO", "af_heart")
    (result,) = pipeline("Hello.", voice="af_heart")
    (again,) = pipeline.generate_from_tokens(result.tokens, "af_heart")
    assert np.array_equal(again.audio, result.audio)
    assert plain.phonemes == "həlˈO"
    with pytest.raises(ValueError, match="too long: 511"):
        list(pipeline.generate_from_tokens("a" * 511, "af_heart"))
    faster = next(pipeline("Hello.", voice="af_heart", speed=lambda n: 2.0))
    assert len(faster.audio) < len(result.audio)


def test_stock_kokoro_takes_our_model(model, toy_artifact):
    torch = pytest.importorskip("torch")
    kokoro = pytest.importorskip("kokoro")
    pytest.importorskip("espeakng_loader")
    pipeline = kokoro.KPipeline(lang_code="e", repo_id="hexgrad/Kokoro-82M", model=model)
    assert pipeline.model is model
    pack = torch.from_numpy(np.load(toy_artifact / "voices" / "af_heart.npy"))
    (result,) = pipeline("Hola mundo.", voice=pack)
    expected = model.synthesizer.synthesize(result.phonemes, pack.numpy())
    assert np.array_equal(result.audio.numpy(), expected.audio)
    assert result.pred_dur.tolist() == expected.durations.tolist()


def test_kokoro_onnx(toy_artifact):
    kokoro = Kokoro(toy_artifact, "voices.bin")
    with kokoro_pipeline.load(toy_artifact) as tts:
        wanted = tts.speak("Hello there. How are you?", "af_bella", "en-us", 1.2).audio
    audio, rate = kokoro.create("Hello there. How are you?", voice="af_bella", speed=1.2)
    assert rate == 24_000
    assert np.array_equal(audio, wanted)

    async def gather() -> list[np.ndarray]:
        stream = kokoro.create_stream("Hello there. How are you?", voice="af_bella", speed=1.2)
        return [part async for part, _ in stream]

    assert np.array_equal(np.concatenate(asyncio.run(gather())), wanted)
    assert kokoro.get_voices() == ["af_bella", "af_heart"]
    assert kokoro.get_voice_style("af_heart").shape == (510, 1, 256)
    spoken, _ = kokoro.create("həlˈO", voice=kokoro.get_voice_style("af_heart"), is_phonemes=True)
    assert len(spoken)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lang_code": "x"}, "not supported"),
        ({"lang_code": "a", "trf": True}, "trf=True has no counterpart"),
        ({"lang_code": "a", "device": "cuda"}, "device='cuda' has no counterpart"),
    ],
)
def test_what_has_no_counterpart_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        KPipeline(model=False, **options)


def test_an_artifact_must_be_named(monkeypatch, pipeline):
    monkeypatch.delenv("KOKORO_ARTIFACT", raising=False)
    with pytest.raises(InputError, match="kokoro-pipeline build -o DIR"):
        KPipeline(lang_code="a")
    monkeypatch.setenv("KOKORO_ARTIFACT", "somewhere")
    assert find_artifact(None) == "somewhere"
    with pytest.raises(ValueError, match="specify a voice"):
        list(pipeline("Hello."))
