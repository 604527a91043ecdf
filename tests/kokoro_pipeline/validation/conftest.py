"""A stock KModel with random weights that exercise it, its reference for a tiny case, helpers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from kokoro_pipeline.config import default_config
from kokoro_pipeline.normals import standard_normals
from kokoro_pipeline.validation.cases import VOICES, Case

if TYPE_CHECKING:
    import kokoro

    from kokoro_pipeline.validation.case_reference import CaseReference
    from kokoro_pipeline.validation.reference import ReferenceModel
    from kokoro_pipeline.validation.references import ReferenceWeights

TINY = Case("mI tˈOz.", VOICES[0], 1.0, max_frames=6)
"""8 phonemes, cut to 6 frames: 0.15 s of audio."""


@pytest.fixture(scope="module")
def stock_model() -> kokoro.KModel:
    """A stock KModel of random weights: voiced and unvoiced frames, no norm at identity."""
    import kokoro
    import torch

    # Built in float32 whatever came before, from a fixed seed, the global state left as it was.
    with torch.random.fork_rng(), pytest.MonkeyPatch.context() as patch, torch.no_grad():
        torch.manual_seed(7)
        patch.setattr(torch, "load", lambda *_, **__: {})
        model = kokoro.KModel(
            repo_id="hexgrad/Kokoro-82M", config=default_config().raw, model="none"
        )
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(False)
            if name.endswith("norm.weight") or "alpha" in name:
                parameter.mul_(1 + 0.2 * torch.rand(parameter.shape))
            if name.endswith("norm.bias"):
                parameter.add_(0.1 * torch.randn(parameter.shape))
        predictor, generator = model.predictor, model.decoder.generator
        predictor.duration_proj.linear_layer.bias.fill_(-2.6)  # about 3.5 frames a token
        predictor.F0_proj.weight.mul_(400)
        predictor.F0_proj.bias.fill_(60)
        generator.conv_post.weight_g.mul_(3)
        generator.conv_post.bias.copy_(torch.cat([torch.full((11,), -1.5), torch.zeros(11)]))
        for module in model.modules():
            # Weight normalization leaves a graph behind, which cannot be copied.
            weight = getattr(module, "weight", None)
            if isinstance(weight, torch.Tensor) and not weight.is_leaf:
                module.weight = weight.detach()
    return model.eval()


@pytest.fixture(scope="module")
def copy_model(stock_model: kokoro.KModel) -> Callable[[], kokoro.KModel]:
    """A new model at every call, as `load_model` gives."""
    return lambda: copy.deepcopy(stock_model)


@pytest.fixture(scope="module")
def float32(stock_model: kokoro.KModel) -> ReferenceModel:
    """The ReferenceModel in float32: the stock model itself, for nothing is cast."""
    import torch

    from kokoro_pipeline.validation.reference import ReferenceModel

    return ReferenceModel(stock_model, torch.float32)


@pytest.fixture(scope="module")
def float64(copy_model: Callable[[], kokoro.KModel]) -> ReferenceModel:
    """The ReferenceModel in float64."""
    import torch

    from kokoro_pipeline.validation.reference import ReferenceModel

    return ReferenceModel(copy_model(), torch.float64)


@pytest.fixture(scope="session")
def voices() -> dict[str, np.ndarray]:
    """Two voice packs, float32 [510, 1, 256]."""
    rng = np.random.default_rng(3)
    return {name: 0.5 * rng.standard_normal((510, 1, 256), dtype=np.float32) for name in VOICES}


@pytest.fixture(scope="module")
def tiny(
    voices: dict[str, np.ndarray], float64: ReferenceModel, float32: ReferenceModel
) -> CaseReference:
    """The CaseReference of TINY."""
    from kokoro_pipeline.validation.case_reference import case_inputs, compute_reference

    return compute_reference(case_inputs(TINY, voices), float64, float32)


@pytest.fixture(scope="module")
def functions(float32: ReferenceModel, float64: ReferenceModel) -> dict[str, Callable[..., Any]]:
    """The functions as a good implementation has them: float32 networks, a float64 source."""

    def source_forward(f0: np.ndarray, noise: np.ndarray) -> np.ndarray:
        return float64.har(float64.waveform(f0, noise)).astype(np.float32)

    def noise_forward(frames: np.ndarray, key: np.ndarray) -> np.ndarray:
        values = standard_normals(key, 0, 5400 * len(frames))
        return values.astype(np.float32).reshape(1, -1, 9)

    return {
        "bert_forward": lambda input_ids, lengths: float32.bert(input_ids),
        "duration_forward": lambda d_en, style, lengths: float32.duration(d_en, style),
        "text_encoder_forward": lambda input_ids, lengths: float32.text_encoder(input_ids),
        "f0n_forward": float32.f0n,
        "noise_forward": noise_forward,
        "source_forward": source_forward,
        "decoder_forward": float32.decoder,
    }


@pytest.fixture(scope="module")
def weights(
    float64: ReferenceModel, float32: ReferenceModel, voices: dict[str, np.ndarray]
) -> ReferenceWeights:
    """The model as weights to validate against."""
    from kokoro_pipeline.validation.references import ReferenceWeights

    return ReferenceWeights("5" * 64, "a test", lambda: (float64, float32), voices)
