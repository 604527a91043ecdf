"""The reference is the stock model: its chained steps give its result, in float64 throughout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import kokoro.istftnet
import numpy as np
import pytest
import torch
from kokoro.custom_stft import CustomSTFT

from kokoro_pipeline.errors import InputError
from kokoro_pipeline.validation.case_reference import (
    case_inputs,
    cut_durations,
    rounded,
    whole_audio,
)
from kokoro_pipeline.validation.cases import Case
from kokoro_pipeline.validation.convolution_in_pieces import PIECE, convolve_in_pieces
from kokoro_pipeline.validation.reference import ReferenceModel
from kokoro_pipeline.validation.stock_precision import kokoro_runs_in
from kokoro_pipeline.validation.stock_spectrum import stock_har, stock_window


def test_the_steps_chained_are_the_stock_model_bit_for_bit(
    float32: Any, voices: dict[str, np.ndarray]
) -> None:
    inputs = case_inputs(Case("sˈi"), voices)
    duration, _ = float32.duration(float32.bert(inputs.input_ids), inputs.predictor_style)
    durations = np.maximum(np.rint(duration[0].sum(-1)), 1).astype(np.int64)
    noise = inputs.noise(int(durations.sum()))
    with kokoro_runs_in(torch.float32, torch.from_numpy(noise)):
        audio, predicted = float32.model.forward_with_tokens(
            torch.from_numpy(inputs.input_ids), torch.from_numpy(inputs.style)
        )
    assert predicted.tolist() == durations.tolist()
    ours = whole_audio(float32, inputs, durations, noise)
    assert np.array_equal(ours[0], audio.numpy())
    assert np.abs(ours).max() > 1e-3


def test_float64_is_float64_in_every_step_and_near_float32(tiny: Any, float64: Any) -> None:
    arrays = tiny.arrays
    for name in arrays.names():
        expected = {"durations": np.int64, "audio_float32": np.float32}.get(name, np.float64)
        assert getattr(arrays, name).dtype == expected, name
    assert {p.dtype for p in float64.model.parameters()} == {torch.float64}
    # That no intermediate passes through float32 shows in the last digits of a step run twice,
    # once on inputs moved by what float32 could not tell.
    moved = arrays.d_en * (1 + 1e-12)
    duration, d = float64.duration(moved, tiny.inputs.predictor_style)
    _, same = float64.duration(arrays.d_en, tiny.inputs.predictor_style)
    assert 0 < np.abs(d - same).max() < 1e-10
    assert duration.dtype == np.float64


def test_the_case_is_lively(tiny: Any) -> None:
    """It has voiced and unvoiced frames; otherwise tests of the source would prove nothing."""
    voiced = tiny.arrays.F0 > 10
    assert 0.1 < voiced.mean() < 1
    assert 0.05 < np.abs(tiny.arrays.audio).max() < 50
    assert tiny.frames == 6 and tiny.arrays.audio.shape == (1, 3600)


def test_rounding_the_decoders_inputs_does_not_matter(tiny: Any, float64: Any) -> None:
    """So its answer to the rounded inputs stands for the float64 whole audio as well."""
    inputs = tiny.inputs
    whole = whole_audio(float64, inputs, tiny.arrays.durations, tiny.noise)
    assert np.abs(whole - tiny.arrays.audio).max() <= 1e-6 * np.abs(whole).max()
    assert not np.array_equal(whole, tiny.arrays.audio)


def test_a_given_har_that_is_the_sources_own_changes_nothing(tiny: Any, float32: Any) -> None:
    f0, n, style = rounded(tiny.arrays.F0), rounded(tiny.arrays.N), tiny.inputs.decoder_style
    har = float32.har(float32.waveform(f0, tiny.noise))
    given = float32.decoder(tiny.asr, f0, n, style, har)
    assert np.array_equal(given, float32.decoder_with_noise(tiny.asr, f0, n, style, tiny.noise))
    assert not np.array_equal(given, float32.decoder(tiny.asr, f0, n, style, 0 * har))


def test_only_one_random_draw_reaches_the_output(tiny: Any, float64: Any) -> None:
    waveforms = [
        float64.waveform(tiny.arrays.F0, tiny.noise, discarded_seed=seed) for seed in (0, 1)
    ]
    assert np.array_equal(*waveforms)
    other = float64.waveform(tiny.arrays.F0, tiny.noise[:, ::-1].copy())
    assert not np.array_equal(waveforms[0], other)


def test_noise_of_a_wrong_shape_is_refused(tiny: Any, float32: Any) -> None:
    with pytest.raises(InputError, match=r"needs noise \[1, 3600, 9\], given: \[1, 3599, 9\]"):
        float32.waveform(rounded(tiny.arrays.F0), tiny.noise[:, 1:].copy())


def test_everything_is_as_before_even_after_an_exception() -> None:
    state = torch.random.get_rng_state()
    with pytest.raises(ZeroDivisionError), kokoro_runs_in(torch.float64):
        assert torch.get_default_dtype() is torch.float64
        assert kokoro.istftnet.torch.float32 is torch.float64
        assert kokoro.istftnet.torch.rand(3).dtype is torch.float64
        assert not torch.is_grad_enabled()
        raise ZeroDivisionError
    assert torch.get_default_dtype() is torch.float32
    assert kokoro.istftnet.torch is kokoro.modules.torch is kokoro.model.torch is torch
    assert torch.is_grad_enabled()
    assert torch.equal(torch.random.get_rng_state(), state)


def test_the_spectrum_without_a_model_is_the_models(tiny: Any, float64: Any) -> None:
    waveform = tiny.arrays.waveform
    assert np.array_equal(stock_har(waveform), float64.har(waveform))
    assert stock_window().dtype == np.float64
    assert np.array_equal(stock_window(), stock_window().astype(np.float32))


def test_another_stft_is_refused(copy_model: Callable[[], Any]) -> None:
    model = copy_model()
    model.decoder.generator.stft = CustomSTFT(20, 5, 20)
    with pytest.raises(InputError, match="CustomSTFT"):
        ReferenceModel(model, torch.float32)


@pytest.mark.parametrize("length", [1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 17])
@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        (11, {"dilation": 5, "padding": 25}),
        (3, {"padding": 1}),
        (1, {"bias": False}),
        (12, {"stride": 6, "padding": 3}),
        (3, {"stride": 2, "padding": 1, "groups": 4}),
    ],
)
def test_a_convolution_in_pieces_is_the_convolution(
    kernel: int, options: dict[str, Any], length: int
) -> None:
    generator = torch.Generator().manual_seed(length)
    conv = torch.nn.Conv1d(4, 8, kernel, dtype=torch.float64, **options)
    conv = torch.nn.utils.weight_norm(conv)
    length = max(length, kernel)
    x = torch.randn(2, 4, length, dtype=torch.float64, generator=generator)
    with torch.no_grad():
        whole = conv(x)
        conv.weight_g.mul_(2)  # a hook must go on turning it into the weight
        convolve_in_pieces(conv)
        pieces = conv(x)
        if conv.bias is not None:
            whole, pieces = whole - conv.bias[:, None], pieces - conv.bias[:, None]
    assert pieces.shape == whole.shape
    assert torch.allclose(pieces, 2 * whole, rtol=0, atol=1e-13)


def test_a_convolution_with_other_padding_is_refused() -> None:
    with pytest.raises(InputError, match="reflect"):
        convolve_in_pieces(torch.nn.Conv1d(1, 1, 3, padding=1, padding_mode="reflect"))


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(None, [3, 1, 4]), (8, [3, 1, 4]), (5, [3, 1, 1]), (4, [3, 1, 0]), (2, [2, 0, 0])],
)
def test_durations_are_cut_to_the_first_frames(limit: int | None, expected: list[int]) -> None:
    assert cut_durations(np.array([3, 1, 4]), limit).tolist() == expected
