"""Our own contender measures what a user would get."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.peers.chunk_inputs import load_case
from benchmarks.peers.ours import OurContender
from kokoro_pipeline.artifact.manifest import PRECISIONS
from kokoro_pipeline.errors import CheckFailed, InputError
from kokoro_pipeline.runtime import load
from kokoro_pipeline.runtime.speech.binding import FUNCTIONS

SHORT = "ðə kwˈɪk bɹˈWn fˈɑks"
LONG = "ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps. " * 20


@pytest.fixture(scope="module")
def ours(toy_artifact):
    return OurContender("ours", 1, artifact=str(toy_artifact))


def test_steps_are_the_functions_of_synthesis(ours):
    sample = ours.steps(SHORT, "af_heart")
    assert list(sample.steps) == [
        "bert_forward",
        "duration_forward",
        "noise_forward",
        "text_encoder_forward",
        "f0n_forward",
        "source_forward",
        "decoder_forward",
    ]
    assert set(sample.steps) == {*FUNCTIONS, "noise_forward"}
    assert all(seconds > 0 for seconds in sample.steps.values())
    assert sum(sample.steps.values()) <= sample.seconds


def test_an_utterance_is_sized(ours, toy_artifact):
    with load(toy_artifact) as synthesizer:
        speech = synthesizer.synthesize(LONG)
    size = ours.measured(LONG, "af_heart")
    assert size.seconds == pytest.approx(speech.seconds)
    assert size.chunks == len(speech.chunks) > 1


def test_a_case_is_what_synthesis_computes(ours, toy_artifact, tmp_path):
    """Peers get the tokens, style, frames and noise of `synthesize(seed=0)`."""
    ours.write_case(SHORT, "af_bella", str(tmp_path / "case.npz"))
    case = load_case(tmp_path / "case.npz")
    with load(toy_artifact) as synthesizer:
        speech = synthesizer.synthesize(SHORT, "af_bella")
        given = synthesizer.synthesize(SHORT, "af_bella", noise=case.noise)
        np.testing.assert_array_equal(case.frames, speech.durations)
        np.testing.assert_array_equal(given.audio, speech.audio)
    assert case.seconds == pytest.approx(speech.seconds)
    assert case.symbols == {"B": 1, "n": len(speech.durations), "t": speech.durations.sum()}


def test_peers_are_spared_what_has_several_chunks(ours, tmp_path):
    with pytest.raises(InputError, match="one chunk of at most 510"):
        ours.write_case(LONG, "af_heart", str(tmp_path / "case.npz"))


def test_the_first_chunk_is_audible_before_the_last(ours, monkeypatch):
    """What is timed is the first chunk alone."""
    spoken = []
    synthesize = type(ours._synthesizer).synthesize

    def recorded(synthesizer, phonemes, *arguments):
        spoken.append(phonemes)
        return synthesize(synthesizer, phonemes, *arguments)

    monkeypatch.setattr(type(ours._synthesizer), "synthesize", recorded)
    assert ours.first_audio(LONG, "af_heart") > 0
    (first,) = spoken
    assert LONG.startswith(first)
    assert len(first) < len(LONG)


def test_we_are_verified_like_everybody(ours, write_reference, tmp_path):
    case, reference = tmp_path / "case.npz", tmp_path / "reference.npz"
    ours.write_case(SHORT, "af_heart", str(case))
    write_reference(case, reference)
    ours.prepare(str(case))
    found = ours.verify(str(reference))
    assert max(a.error for a in found) < 1e-4
    sample = ours.run()
    assert set(sample.steps) == set(FUNCTIONS), "the noise is given"

    with np.load(reference) as file:
        arrays = dict(file)
    arrays["audio"] = arrays["audio"] * 1.01
    np.savez(reference, **arrays)
    with pytest.raises(CheckFailed, match="decoder_forward audio"):
        ours.verify(str(reference))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_reduced_precision_is_verified_as_the_peers_in_bfloat16(
    ours, write_reference, monkeypatch, tmp_path, precision
):
    """1 percent off is what products of bfloat16 do, and too much for float32."""
    case, reference = tmp_path / "case.npz", tmp_path / "reference.npz"
    ours.write_case(SHORT, "af_heart", str(case))
    write_reference(case, reference)
    with np.load(reference) as file:
        arrays = dict(file)
    np.savez(reference, **{**arrays, "audio": arrays["audio"] * 1.01})
    ours.prepare(str(case))
    manifest = ours._synthesizer.manifest
    other = replace(manifest, target=replace(manifest.target, precision=precision))
    monkeypatch.setattr(type(ours._synthesizer), "manifest", property(lambda _: other))
    if precision in ("float32", "float32-fma"):
        with pytest.raises(CheckFailed, match="decoder_forward audio"):
            ours.verify(str(reference))
    else:
        assert max(a.error for a in ours.verify(str(reference))) > 5e-3
