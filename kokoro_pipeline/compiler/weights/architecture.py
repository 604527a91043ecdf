"""The stock model of a configuration: its tensors' names and shapes, and an empty instance."""

from __future__ import annotations

import io
import re
import warnings
from typing import TYPE_CHECKING, Any

from .requirements import building_module

if TYPE_CHECKING:
    from torch import nn

COMPONENTS = ("bert", "bert_encoder", "predictor", "text_encoder", "decoder")
"""The checkpoint's top level, in the order of the stock model."""

ADAIN_AFFINE = re.compile(r"\.(?:norm[12]|adain[12]\.\d+)\.norm\.(?:weight|bias)$")
"""The affine of an AdaIN's instance norm, which the real checkpoint omits: identity then."""

Shapes = dict[str, dict[str, tuple[int, ...]]]
"""Component to tensor name to shape."""


def empty_model(config: dict[str, Any]) -> nn.Module:
    """A stock `kokoro.KModel` of the configuration, in eval mode, with torch's initial weights."""
    torch = building_module("torch")
    kokoro = building_module("kokoro")
    nothing = io.BytesIO()
    torch.save({}, nothing)
    nothing.seek(0)
    with warnings.catch_warnings():
        # kokoro's own way of making its layers, which a user can do nothing about.
        warnings.filterwarnings("ignore", message="dropout option adds dropout")
        warnings.filterwarnings("ignore", message=r".*weight_norm. is deprecated")
        # The stock constructor always reads a checkpoint; one without components changes nothing.
        model = kokoro.KModel(repo_id="hexgrad/Kokoro-82M", config=config, model=nothing)
    return model.eval().requires_grad_(False)


def expected_shapes(config: dict[str, Any]) -> Shapes:
    """Every tensor that a checkpoint of this configuration has, without allocating one."""
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
    """Whether a checkpoint may lack the tensor (the affine of an AdaIN's instance norm)."""
    return ADAIN_AFFINE.search(name) is not None
