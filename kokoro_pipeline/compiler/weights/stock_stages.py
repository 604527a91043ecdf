"""Run the stock model stage by stage on fixed sentences, for calibration and tests."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from kokoro_pipeline.config import HAR_FRAMES_PER_FRAME, STYLE_DIM, default_config

from .draws import symmetric_units


def sentence(index: int, phonemes: int = 100) -> Tensor:
    """The fixed sentence `index`: int64 [1, phonemes + 2].

    It consists of arbitrary symbols of the vocabulary between boundary tokens.
    """
    symbols = np.asarray(sorted(default_config().vocab.values()), np.int64)
    units = symmetric_units(index, f"probe/{phonemes}", phonemes)
    picks = ((units + 1) / 2 * len(symbols)).astype(np.int64)
    return torch.from_numpy(np.concatenate(([0], symbols[picks], [0])))[None]


@dataclass(frozen=True)
class Prosody:
    """All results before the decoder, for one sentence and one style vector.

    d_en [1, 512, n]; d [1, n, 640]; duration [1, n] in frames, not rounded; frames int64 [n]; en
    [1, 640, t]; f0 and energy [1, 2t]; t_en [1, 512, n]; asr [1, 512, t].
    """

    ids: Tensor
    style: Tensor
    d_en: Tensor
    d: Tensor
    duration: Tensor
    frames: Tensor
    en: Tensor
    f0: Tensor
    energy: Tensor
    t_en: Tensor
    asr: Tensor


def all_valid(ids: Tensor) -> tuple[Tensor, Tensor]:
    """Lengths and mask of a batch without padding, in the form that the stock modules expect."""
    return torch.full((ids.shape[0],), ids.shape[1]), torch.zeros(ids.shape, dtype=torch.bool)


def bert(model: Any, ids: Tensor) -> Tensor:
    """d_en for the given ids."""
    mask = torch.ones(ids.shape, dtype=torch.int32)
    return model.bert_encoder(model.bert(ids, attention_mask=mask)).transpose(-1, -2)


def duration(model: Any, d_en: Tensor, style: Tensor) -> tuple[Tensor, Tensor]:
    """(frames of each token before rounding [1, n], d [1, n, 640]); `style` [1, 256]."""
    lengths, mask = all_valid(d_en[:, 0])
    d = model.predictor.text_encoder(d_en, style[:, STYLE_DIM:], lengths, mask)
    logits = model.predictor.duration_proj(model.predictor.lstm(d)[0])
    return torch.sigmoid(logits).sum(-1), d


def text_encoder(model: Any, ids: Tensor) -> Tensor:
    """t_en for the given ids."""
    return model.text_encoder(ids, *all_valid(ids))


def prosody(model: Any, ids: Tensor, style: Tensor) -> Prosody:
    """Compute everything before the decoder, with the durations that the model predicts."""
    d_en = bert(model, ids)
    per_token, d = duration(model, d_en, style)
    frames = torch.round(per_token).clamp(min=1).long()[0]
    en = torch.repeat_interleave(d.transpose(-1, -2), frames, dim=-1)
    f0, energy = model.predictor.F0Ntrain(en, style[:, STYLE_DIM:])
    t_en = text_encoder(model, ids)
    asr = torch.repeat_interleave(t_en, frames, dim=-1)
    return Prosody(ids, style, d_en, d, per_token, frames, en, f0, energy, t_en, asr)


def harmonics(model: Any, f0: Tensor, noise_seed: int = 0) -> Tensor:
    """har [1, 22, 120t + 1] for an F0 curve.

    The noise is drawn from torch's generator, seeded with `noise_seed`.
    """
    generator = model.decoder.generator
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(noise_seed)
        wave = generator.m_source(generator.f0_upsamp(f0[:, None]).transpose(1, 2))[0]
    return torch.cat(generator.stft.transform(wave.transpose(1, 2).squeeze(1)), dim=1)


def decode(model: Any, given: Prosody, har: Tensor) -> Tensor:
    """The audio [600t] of the decoder, with `har` in place of its harmonic source."""
    generator = model.decoder.generator
    assert har.shape[-1] == HAR_FRAMES_PER_FRAME * given.asr.shape[-1] + 1
    bins = har.shape[1] // 2
    generator.m_source.forward = lambda f0: (f0, f0, f0)
    generator.stft.transform = lambda wave: (har[:, :bins], har[:, bins:])
    try:
        audio = model.decoder(given.asr, given.f0, given.energy, given.style[:, :STYLE_DIM])
    finally:
        del generator.m_source.forward, generator.stft.transform
    return audio.flatten()


@contextmanager
def float64(model: nn.Module) -> Iterator[Any]:
    """Context that yields a float64 copy of the model, for all functions here but `harmonics`."""
    double: Any = copy.deepcopy(model).double()
    double.decoder.generator.stft.window = double.decoder.generator.stft.window.double()
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # the stock modules create their paddings with it
    try:
        yield double
    finally:
        torch.set_default_dtype(before)


def errors(ours: Tensor, reference: Tensor) -> tuple[float, float]:
    """(largest, rms) difference, both relative to the largest magnitude of the reference."""
    difference = ours.double() - reference.double()
    peak = reference.abs().max()
    return float(difference.abs().max() / peak), float(difference.square().mean().sqrt() / peak)
