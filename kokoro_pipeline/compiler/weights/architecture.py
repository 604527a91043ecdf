"""The stock model of a configuration: names and shapes of its tensors, and an empty instance."""

from __future__ import annotations

import io
import re
import warnings
from typing import TYPE_CHECKING, Any

from .requirements import building_module

if TYPE_CHECKING:
    from torch import nn

COMPONENTS = ("bert", "bert_encoder", "predictor", "text_encoder", "decoder")
"""The top-level keys of a checkpoint, in the order of the stock model."""

ADAIN_AFFINE = re.compile(r"\.(?:norm[12]|adain[12]\.\d+)\.norm\.(?:weight|bias)$")
"""The affine parameters of AdaIN's instance norms, which the real checkpoint omits (identity)."""

Shapes = dict[str, dict[str, tuple[int, ...]]]
"""Component to tensor name to shape."""


def empty_model(config: dict[str, Any]) -> nn.Module:
    """A stock `kokoro.KModel` for the configuration, in eval mode, with torch's initial weights."""
    torch = building_module("torch")
    kokoro = building_module("kokoro")
    nothing = io.BytesIO()
    torch.save({}, nothing)
    nothing.seek(0)
    with warnings.catch_warnings():
        # These are caused by the way kokoro creates its layers; a user cannot do anything about it.
        warnings.filterwarnings("ignore", message="dropout option adds dropout")
        warnings.filterwarnings("ignore", message=r".*weight_norm. is deprecated")
        # The stock constructor always loads a checkpoint; an empty one changes nothing.
        model = kokoro.KModel(repo_id="hexgrad/Kokoro-82M", config=config, model=nothing)
    return model.eval().requires_grad_(False)


def expected_shapes(config: dict[str, Any]) -> Shapes:
    """The shapes of all tensors in a checkpoint for this configuration, without allocating them."""
    torch = building_module("torch")
    with torch.device("meta"):
        model = empty_model(config)
    return {
        component: {
            name: tuple(tensor.shape)
            for name, tensor in getattr(model, component).state_dict().items()
        }
        for component in COMPONENTS
    }


def may_be_absent(name: str) -> bool:
    """Whether a checkpoint may omit the tensor (affine parameters of AdaIN's instance norms)."""
    return ADAIN_AFFINE.search(name) is not None
