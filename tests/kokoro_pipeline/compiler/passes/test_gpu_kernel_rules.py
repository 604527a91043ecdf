"""Which operators become which GPU kernels at each level; results always equal torch's."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest
import torch
import tvm
from torch.export import Dim
from torch.nn import functional

from kokoro_pipeline.compiler.codegen.target import resolve_target
from kokoro_pipeline.compiler.importing import import_program
from kokoro_pipeline.compiler.lowering.parameter_table import PARAMETER_NAMES, ParameterTable
from kokoro_pipeline.compiler.passes.pipeline import phases, run_phases
from tvm_gpu_emulator import emulate

pytestmark = pytest.mark.slow

C = 12


def seeded(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


PARAMETERS = {
    "w": 0.2 * seeded(C, C, 3),
    "up": 0.2 * seeded(C, 5, 8),
    "pool": seeded(C, 1, 3),
    "linear": 0.2 * seeded(7, C),
    "b": seeded(C),
    "b7": seeded(7),
    "alpha": 1 + 0.1 * seeded(1, C, 1),
    "norm_weight": 1 + 0.1 * seeded(C),
    "norm_bias": 0.1 * seeded(C),
}


def adain(m: Any, x: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
    gamma, beta = style.chunk(2, dim=1)
    normed = functional.instance_norm(x, weight=m.norm_weight, bias=m.norm_bias)
    return (1 + gamma)[:, :, None] * normed + beta[:, :, None]


def snake(m: Any, y: torch.Tensor) -> torch.Tensor:
    wave = torch.sin(m.alpha * y)
    return y + (1 / m.alpha) * (wave * wave)


def program(m: Any, x: torch.Tensor, style: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Every kind of layer once; x is read by a norm and as a residual."""
    y = functional.conv1d(snake(m, adain(m, x, style)), m.w, m.b, padding=1) + x
    pooled = functional.leaky_relu(adain(m, y, style), 0.2)
    pooled = functional.conv_transpose1d(
        pooled, m.pool, m.b, stride=2, padding=1, output_padding=1, groups=C
    )
    raised = functional.conv_transpose1d(functional.leaky_relu(y, 0.1), m.up, stride=4, padding=2)
    rows = functional.layer_norm(pooled.transpose(1, 2), (C,), m.norm_weight, m.norm_bias)
    return functional.linear(rows, m.linear, m.b7), torch.tanh(raised)


KERNELS = {
    0: ["conv1d", "instance_norm", "layer_norm", "matmul", "conv1d_transpose"],
    1: [
        "gpu_conv1d_12x12k3s1d1p1_1_bias_float32",
        "row_statistics_c12",
        "gpu_depthwise_upsample_c12_bias",
        "gpu_conv_transpose1d_12x5k8s4c2_2",
        "gpu_layer_norm_f12",
        "gpu_linear_12x7_bias",
    ],
    2: [
        "gpu_conv1d_12x12k3s1d1p1_1_adain_snake_bias_residual_float32",
        "row_statistics_c12",
        "gpu_adain_c12_adain_leaky0_2",
        "gpu_depthwise_upsample_c12_bias",
        "gpu_conv_transpose1d_12x5k8s4c2_2",
        "gpu_layer_norm_f12",
        "gpu_linear_12x7_bias",
    ],
}


@pytest.fixture(scope="module")
def module(as_module):
    return as_module(program, **PARAMETERS).eval()


@pytest.fixture(scope="module")
def imported(module):
    length = Dim("L", min=2, max=4096)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning, message=r".*LeafSpec")
        exported = torch.export.export(
            module,
            (seeded(1, C, 9), seeded(1, 2 * C)),
            dynamic_shapes=({2: length}, None),
        ).run_decompositions({})
    parameters = ParameterTable()
    return import_program(exported, "program", parameters), parameters


@pytest.mark.parametrize("kind", ["cuda", "metal"])
@pytest.mark.parametrize("level", KERNELS)
def test_every_level_computes_what_torch_does(module, imported, level, kind):
    lowered, table = imported
    parameters = ParameterTable(dict(table.arrays))
    # This machine runs the host code, whatever system the device would be on.
    target = tvm.target.Target(resolve_target(kind).tvm, host="llvm")
    todo = phases(level, target, parameters, ["program"])
    final = run_phases(lowered, todo, target)
    executable = emulate(final, target, relax_pipeline=None, check=True)
    weights = [parameters[str(name)] for name in final["program"].attrs[PARAMETER_NAMES]]
    for length in (2, 9, 70):
        x, style = seeded(1, C, length), 0.3 * seeded(1, 2 * C)
        with torch.no_grad():
            expected = copy.deepcopy(module).double()(x.double(), style.double())
        ours = executable["program"](x.numpy(), style.numpy(), *weights)
        for result, truth in zip(ours, expected, strict=True):
            np.testing.assert_allclose(result.numpy(), truth.numpy(), rtol=0, atol=2e-5)
    for name in KERNELS[level]:
        assert any(kernel.startswith(name) for kernel in executable.launches), name
