"""The six modules compute the same as the stock `kokoro.KModel`, alone and in padded batches."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kokoro_pipeline.compiler.model import COMPONENT_NAMES, make_components
from kokoro_pipeline.compiler.model.bert import BertForward
from kokoro_pipeline.compiler.model.blocks import BidirectionalLSTM
from kokoro_pipeline.compiler.model.components import SIGNATURES, evaluate_dimension
from kokoro_pipeline.config import load_config
from kokoro_pipeline.errors import InputError

TOKEN_COUNTS = (3, 12, 57)
# torch's own instance norm refuses the single column that one frame would give it.
FRAME_COUNTS = (2, 3, 17)
VOCABULARY = load_config().n_token


def ids_of(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(0, VOCABULARY, shape)


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, dtype=np.float32)


def run(module: torch.nn.Module, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    with torch.no_grad():
        result = module(*map(torch.from_numpy, arrays))
    return tuple(tensor.numpy() for tensor in (result if isinstance(result, tuple) else (result,)))


def assert_near(actual: np.ndarray, expected: np.ndarray, relative: float = 1e-5) -> None:
    """Within `relative` of the largest expected value: float32's own noise."""
    assert actual.dtype == np.float32
    assert actual.shape == expected.shape
    assert np.abs(actual - expected).max() <= relative * np.abs(expected).max()


# Equal to the stock model


@pytest.mark.parametrize("n", TOKEN_COUNTS)
def test_bert_equals_kokoro(n, modules, float32_reference):
    ids = ids_of(np.random.default_rng(n), 1, n)
    (d_en,) = run(modules["bert_forward"], ids, np.array([n]))
    assert_near(d_en, float32_reference.bert(ids))


@pytest.mark.parametrize("n", TOKEN_COUNTS)
def test_duration_equals_kokoro(n, modules, float32_reference):
    rng = np.random.default_rng(n)
    d_en, style = normal(rng, 1, 512, n), normal(rng, 1, 128)
    actual = run(modules["duration_forward"], d_en, style, np.array([n]))
    for got, expected in zip(actual, float32_reference.duration(d_en, style), strict=True):
        assert_near(got, expected)


@pytest.mark.parametrize("n", TOKEN_COUNTS)
def test_text_encoder_equals_kokoro(n, modules, float32_reference):
    ids = ids_of(np.random.default_rng(n), 1, n)
    (t_en,) = run(modules["text_encoder_forward"], ids, np.array([n]))
    assert_near(t_en, float32_reference.text_encoder(ids))


@pytest.mark.parametrize("t", FRAME_COUNTS)
def test_f0n_equals_kokoro(t, modules, float32_reference):
    rng = np.random.default_rng(t)
    en, style = normal(rng, 1, 640, t), normal(rng, 1, 128)
    for got, expected in zip(
        run(modules["f0n_forward"], en, style), float32_reference.f0n(en, style), strict=True
    ):
        assert_near(got, expected)


@pytest.mark.parametrize("t", (1, *FRAME_COUNTS, 160))
def test_source_equals_kokoro_in_float64(t, modules, float64_reference):
    """Against float64: kokoro's float32 phases are wrong by up to a fifth of the peak."""
    rng = np.random.default_rng(t)
    f0 = rng.uniform(60, 400, (1, 2 * t)).astype(np.float32)
    f0[:, rng.random(2 * t) < 0.3] = 2.0  # unvoiced
    noise = normal(rng, 1, 600 * t, 9)
    wave = float64_reference.waveform(f0, noise)
    with torch.no_grad():
        ours = modules["source_forward"].waveform(torch.from_numpy(f0), torch.from_numpy(noise))
    assert ours.dtype == torch.float64
    assert np.abs(ours.numpy() - wave).max() <= 1e-9
    (har,) = run(modules["source_forward"], f0, noise)
    expected = float64_reference.har(wave)
    assert har.shape == (1, 22, 120 * t + 1)
    np.testing.assert_allclose(har[:, :11], expected[:, :11], atol=1e-6)
    # The phase of a bin without magnitude is noise; an angle counts modulo a turn.
    turn = np.angle(np.exp(1j * (har[:, 11:] - expected[:, 11:])))
    assert np.abs(turn * expected[:, :11]).max() <= 2e-6


@pytest.mark.parametrize("t", FRAME_COUNTS)
def test_decoder_equals_kokoro(t, modules, float32_reference):
    rng = np.random.default_rng(t)
    asr, style, n = normal(rng, 1, 512, t), 0.3 * normal(rng, 1, 128), normal(rng, 1, 2 * t)
    f0 = rng.uniform(60, 400, (1, 2 * t)).astype(np.float32)
    phases = rng.uniform(-np.pi, np.pi, (1, 11, 120 * t + 1)).astype(np.float32)
    har = np.concatenate([np.abs(normal(rng, *phases.shape)), phases], axis=1)
    (audio,) = run(modules["decoder_forward"], asr, f0, n, style, har)
    assert_near(audio, float32_reference.decoder(asr, f0, n, style, har), 5e-5)


# Padding

LENGTHS = np.array([3, 9, 1, 12])


@pytest.mark.parametrize("name", ["bert_forward", "text_encoder_forward"])
def test_what_pads_token_ids_is_not_seen(name, modules):
    rng = np.random.default_rng(1)
    ids = ids_of(rng, len(LENGTHS), LENGTHS.max())
    (batch,) = run(modules[name], ids, LENGTHS)
    for row, length in enumerate(LENGTHS):
        (alone,) = run(modules[name], ids[row : row + 1, :length], LENGTHS[row : row + 1])
        np.testing.assert_allclose(batch[row, :, :length], alone[0], atol=1e-5)
        assert not batch[row, :, length:].any()


def test_what_pads_d_en_is_not_seen(modules):
    """NaN included: multiplying by a mask would keep it."""
    rng = np.random.default_rng(2)
    d_en = normal(rng, len(LENGTHS), 512, LENGTHS.max())
    style = normal(rng, len(LENGTHS), 128)
    for row, length in enumerate(LENGTHS):
        d_en[row, :, length:] = np.nan
    batch = run(modules["duration_forward"], d_en, style, LENGTHS)
    for row, length in enumerate(LENGTHS):
        rows = slice(row, row + 1)
        alone = run(modules["duration_forward"], d_en[rows, :, :length], style[rows], LENGTHS[rows])
        for got, expected in zip(batch, alone, strict=True):
            assert_near(got[row, :length], expected[0])
            assert not got[row, length:].any()


# Signatures


def test_the_six_components_and_their_order():
    assert COMPONENT_NAMES == (
        "bert_forward",
        "duration_forward",
        "text_encoder_forward",
        "f0n_forward",
        "source_forward",
        "decoder_forward",
    )


@pytest.mark.parametrize("name", COMPONENT_NAMES)
def test_an_example_gives_the_outputs_that_the_signature_names(name, modules):
    signature = SIGNATURES[name]
    sizes = {"B": 2, "n": 5, "t": 3, "m": 6}

    def size(shape):
        return tuple(evaluate_dimension(dimension, sizes) for dimension in shape)

    inputs = [np.ones(size(shape), dtype) for dtype, shape in signature.inputs.values()]
    outputs = run(modules[name], *inputs)
    assert [(str(output.dtype), output.shape) for output in outputs] == [
        (dtype, size(shape)) for dtype, shape in signature.outputs.values()
    ]


@pytest.mark.parametrize(
    ("dimension", "value"), [(7, 7), ("t", 14), ("2*t", 28), ("120*t+1", 1681), ("60*m+1", 1681)]
)
def test_dimensions_are_evaluated(dimension, value):
    assert evaluate_dimension(dimension, {"t": 14, "m": 28}) == value


def test_a_dimension_cannot_reach_beyond_its_symbols():
    with pytest.raises(NameError):
        evaluate_dimension("__import__('os').getpid()", {"t": 14})


# Models that are not Kokoro


@pytest.mark.parametrize(
    "options",
    [
        {"bidirectional": False},
        {"num_layers": 2},
        {"batch_first": False},
        {"bias": False},
    ],
    ids=str,
)
def test_another_kind_of_lstm_is_refused(options):
    lstm = torch.nn.LSTM(4, 3, **{"bidirectional": True, "batch_first": True, **options})
    with pytest.raises(InputError, match="one bidirectional batch-first layer with bias"):
        BidirectionalLSTM(lstm)


def test_an_albert_with_several_layers_is_refused():
    transformers = pytest.importorskip("transformers")
    config = transformers.AlbertConfig(
        vocab_size=9,
        embedding_size=4,
        hidden_size=8,
        intermediate_size=8,
        num_attention_heads=2,
        num_hidden_layers=2,
        num_hidden_groups=2,
    )
    model = torch.nn.Module()
    model.bert = transformers.AlbertModel(config)
    model.bert_encoder = torch.nn.Linear(8, 4)
    with pytest.raises(InputError, match="shares one layer"):
        BertForward(model)


def test_an_unknown_component_is_refused():
    with pytest.raises(KeyError, match="vocoder_forward"):
        make_components(torch.nn.Module(), ("vocoder_forward",))
