"""The stock model of the synthetic weights, and the six modules that borrow its parameters."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from kokoro_pipeline.compiler.model import make_components
from kokoro_pipeline.compiler.weights import load_model, resolve
from kokoro_pipeline.validation.reference import ReferenceModel


@pytest.fixture(scope="module")
def float32_reference(synthetic_folder: Path) -> ReferenceModel:
    """The stock KModel, step by step, in float32."""
    return ReferenceModel(load_model(resolve(str(synthetic_folder))), torch.float32)


@pytest.fixture(scope="module")
def float64_reference(synthetic_folder: Path) -> ReferenceModel:
    """The stock KModel, step by step, in float64."""
    return ReferenceModel(load_model(resolve(str(synthetic_folder))), torch.float64)


@pytest.fixture(scope="module")
def modules(synthetic_folder: Path) -> dict[str, nn.Module]:
    """The six modules by name; their stock model is their own, for its weight norms are folded."""
    components = make_components(load_model(resolve(str(synthetic_folder))))
    return {component.name: component.module for component in components}
