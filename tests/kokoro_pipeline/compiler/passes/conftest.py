"""The instruction sets that programs are compiled for, and torch functions as modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from kokoro_pipeline.artifact.cpu import host_features, portable_mcpu


def runnable_cpus() -> list[Any]:
    """The best generic CPU that this machine can run, and the AVX2 level below AVX-512, which is of
    the tier `variants`."""
    best = portable_mcpu(host_features())
    lower = ["x86-64-v3"] if best == "x86-64-v4" else []
    return [best, *(pytest.param(cpu, marks=pytest.mark.variants) for cpu in lower)]


@pytest.fixture(scope="module", params=runnable_cpus())
def mcpu(request: pytest.FixtureRequest) -> str:
    return request.param


class Function(torch.nn.Module):
    """`function(module, *inputs)` of one to three inputs; keyword arguments are its parameters."""

    def __init__(self, function: Callable[..., Any], **parameters: torch.Tensor) -> None:
        super().__init__()
        self.function = function
        for name, value in parameters.items():
            self.register_parameter(name, torch.nn.Parameter(value, requires_grad=False))

    def forward(
        self, x: torch.Tensor, y: torch.Tensor | None = None, z: torch.Tensor | None = None
    ) -> Any:
        return self.function(self, *(value for value in (x, y, z) if value is not None))


@pytest.fixture(scope="session")
def as_module() -> type[Function]:
    return Function
