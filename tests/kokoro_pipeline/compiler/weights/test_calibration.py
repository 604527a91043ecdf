"""The synthetic weights are calibrated: a parity check covers every part, and can be passed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("kokoro")

from kokoro_pipeline.compiler.weights import load_model, open_folder, stock_stages  # noqa: E402
from kokoro_pipeline.compiler.weights.architecture import empty_model  # noqa: E402
from kokoro_pipeline.compiler.weights.constants import stored_constants  # noqa: E402
from kokoro_pipeline.compiler.weights.synthetic import (  # noqa: E402
    synthetic_state,
    synthetic_voice,
)
from kokoro_pipeline.config import SAMPLE_RATE, default_config  # noqa: E402

pytestmark = pytest.mark.slow

TOKENS = 100
SENTENCES = range(2)
CHECKED_VOICES = ("af_heart", "af_bella")
UNVOICED_HZ = 10.0  # at or below this F0, the harmonic source gives noise


@pytest.fixture(autouse=True)
def _inference() -> Any:
    """Nothing here needs gradients."""
    with torch.inference_mode():
        yield


def style_row(seed: int, voice: str, phonemes: int) -> Any:
    """The row of the voice for that many phonemes, float32 [1, 256]."""
    pack = synthetic_voice(seed, voice, stored_constants().voices[voice])
    return torch.from_numpy(pack)[phonemes - 1]


@pytest.fixture(scope="module")
def model(synthetic_folder: Path) -> Any:
    """The stock model with the weights of seed 0."""
    return load_model(open_folder(synthetic_folder))


@pytest.fixture(scope="module")
def traces(model: Any) -> list[stock_stages.Prosody]:
    """The fixed set: two sentences of 100 tokens in two voices."""
    with torch.inference_mode():
        return [
            stock_stages.prosody(
                model, stock_stages.sentence(index, TOKENS), style_row(0, voice, TOKENS)
            )
            for voice in CHECKED_VOICES
            for index in SENTENCES
        ]


def model_of(seed: int) -> Any:
    """The stock model with the weights of another seed."""
    model: Any = empty_model(default_config().raw)
    for component, tensors in synthetic_state(seed).items():
        getattr(model, component).load_state_dict(tensors)
    return model


def assert_prosody(traces: list[stock_stages.Prosody], loosely: bool = False) -> None:
    """Durations and F0 over the set, as a parity check needs them."""
    frames = torch.cat([trace.frames for trace in traces]).float()
    assert 2 <= frames.mean() <= 6
    assert frames.std() > 0.5
    assert frames.unique().numel() >= 4
    f0 = torch.cat([trace.f0 for trace in traces], -1)
    unvoiced = float((f0 <= UNVOICED_HZ).float().mean())
    assert 0.02 <= unvoiced <= 0.30
    assert 80 <= f0[f0 > UNVOICED_HZ].median() <= 350
    assert f0.max() < 1000
    energy = torch.cat([trace.energy for trace in traces], -1)
    assert 0.3 < energy.std() < 3
    # Rounded durations can only be compared where they do not lie at a half by construction.
    near_half = torch.cat([(trace.duration % 1 - 0.5).abs() < 0.01 for trace in traces], -1)
    assert near_half.float().mean() < (0.06 if loosely else 0.04)


def test_durations_and_pitch_of_the_fixed_set(traces: list[stock_stages.Prosody]) -> None:
    """Voiced and unvoiced frames, lengths that differ, in every sentence and on the whole."""
    assert_prosody(traces)
    for trace in traces:
        assert 2 <= trace.frames.float().mean() <= 6
        unvoiced = float((trace.f0 <= UNVOICED_HZ).float().mean())
        assert 0.005 <= unvoiced <= 0.40


def test_every_stage_tells_tokens_apart(traces: list[stock_stages.Prosody]) -> None:
    """A stage whose output is the same for every token would hide what goes wrong in it."""
    for trace in traces:
        for stage in (trace.d_en, trace.d.transpose(1, 2)[:, :512], trace.t_en):
            own = stage.var(-1).mean().sqrt()
            assert own > 0.15
            assert own > 0.3 * stage.std()


def test_the_audio_of_the_fixed_set(model: Any, traces: list[stock_stages.Prosody]) -> None:
    """Finite, neither silent nor clipped, and no single spike above a hum."""
    for trace in traces[:: len(SENTENCES)]:
        audio = stock_stages.decode(model, trace, stock_stages.harmonics(model, trace.f0))
        assert bool(torch.isfinite(audio).all())
        assert audio.numel() == 600 * int(trace.frames.sum())
        assert 0.05 <= audio.abs().max() <= 1.5
        assert audio.abs().max() < 25 * audio.std()


@pytest.mark.parametrize("seed", [1, 2])
def test_other_seeds_are_calibrated_too(seed: int) -> None:
    """The constants are not fitted to one seed's accidents."""
    model = model_of(seed)
    traces = [
        stock_stages.prosody(
            model, stock_stages.sentence(0, TOKENS), style_row(seed, voice, TOKENS)
        )
        for voice in CHECKED_VOICES
    ]
    assert_prosody(traces, loosely=True)
    short = stock_stages.prosody(model, stock_stages.sentence(1, 8), style_row(seed, "af_heart", 8))
    audio = stock_stages.decode(model, short, stock_stages.harmonics(model, short.f0))
    assert bool(torch.isfinite(audio).all())
    assert 0.05 <= audio.abs().max() <= 1.5


def test_the_longest_input_speaks_for_most_of_a_minute(model: Any) -> None:
    """512 positions are about 45 seconds, which limits on time or memory must allow."""
    d_en = stock_stages.bert(model, stock_stages.sentence(0, 510))
    frames = (
        stock_stages.duration(model, d_en, style_row(0, "af_heart", 510))[0].round().clamp(min=1)
    )
    assert 35 <= float(frames.sum()) * 600 / SAMPLE_RATE <= 55


def test_every_stage_is_well_conditioned(model: Any) -> None:
    """PyTorch's float32 is within a third of the parity gates of its float64, the source given.

    A stage that amplified rounding would make a correct compiler fail its validation.
    """
    phonemes = 20
    style = style_row(0, "af_heart", phonemes)
    trace = stock_stages.prosody(model, stock_stages.sentence(0, phonemes), style)
    har = stock_stages.harmonics(model, trace.f0)
    audio = stock_stages.decode(model, trace, har)
    with stock_stages.float64(model) as double:
        exact = dataclasses.replace(
            trace,
            **{
                field.name: value.double()
                for field in dataclasses.fields(trace)
                if (value := getattr(trace, field.name)).is_floating_point()
            },
        )
        duration, d = stock_stages.duration(double, exact.d_en, exact.style)
        f0, energy = double.predictor.F0Ntrain(exact.en, exact.style[:, 128:])
        compared = {
            "bert": (trace.d_en, stock_stages.bert(double, trace.ids)),
            "duration": (trace.duration, duration),
            "d": (trace.d, d),
            "text encoder": (trace.t_en, stock_stages.text_encoder(double, trace.ids)),
            "F0": (trace.f0, f0),
            "N": (trace.energy, energy),
            "decoder": (audio, stock_stages.decode(double, exact, har.double())),
        }
    assert torch.get_default_dtype() == torch.float32
    for stage, (ours, reference) in compared.items():
        assert reference.dtype == torch.float64, stage
        largest, rms = stock_stages.errors(ours, reference)
        assert largest <= 3e-5, stage
        assert rms <= 3e-6, stage
