"""`--opt 2` for a CPU with AMX: which operators multiply on tiles, emulated here, in which parts.

Results always equal torch's to the error of the parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import tvm
from torch.export import Dim
from torch.nn import functional

from kokoro_pipeline.artifact import amx
from kokoro_pipeline.compiler.kernels.common.bfloat16_parts import Parts
from kokoro_pipeline.compiler.kernels.cpu import tile_unit
from kokoro_pipeline.compiler.kernels.cpu.tile_unit import TileUnit, emulated_tiles
from kokoro_pipeline.compiler.lowering.cpu_backend import CpuBackend
from kokoro_pipeline.compiler.lowering.parameter_table import ParameterTable
from kokoro_pipeline.compiler.passes import pipeline

C = 32
L = Dim("L", min=1, max=4096)
SAPPHIRE_RAPIDS = tvm.target.Target({"kind": "llvm", "mcpu": "sapphirerapids"})


def seeded(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


PARAMETERS = {
    "w1": 0.2 * seeded(C, C, 1),
    "w3": 0.1 * seeded(C, C, 3),
    "w11": 0.1 * seeded(C, C, 11),
    "up": 0.1 * seeded(C, C, 12),
    "narrow": 0.1 * seeded(5, C, 3),
    "matrix": 0.2 * seeded(2 * C, C),
    "square": 0.2 * seeded(C, C),
    "b": seeded(C),
    "alpha": 1 + 0.1 * seeded(1, C, 1),
    "norm_weight": 1 + 0.1 * seeded(C),
    "norm_bias": 0.1 * seeded(C),
}


@pytest.fixture
def on_tiles(monkeypatch):
    """Make the small programs of the tests such that may multiply on tiles, with given parts."""

    def use(parts: Parts = Parts.TWO) -> None:
        monkeypatch.setattr(pipeline, "TILED", {"program": parts})

    use()
    with emulated_tiles():
        yield use


def activated(m: Any, x: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
    # As an instance norm of one sample, which torch's own refuses.
    centred = functional.instance_norm(x, weight=m.norm_weight, bias=m.norm_bias)
    gamma, beta = style.chunk(2, dim=1)
    y = (1 + gamma)[:, :, None] * centred + beta[:, :, None]
    wave = torch.sin(m.alpha * y)
    return y + (1 / m.alpha) * (wave * wave)


def same(w: torch.Tensor, x: torch.Tensor, b: torch.Tensor | None = None, d: int = 1) -> Any:
    return functional.conv1d(x, w, b, padding=d * (w.shape[2] // 2), dilation=d)


def _block(m: Any, x: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
    y = same(m.w3, activated(m, x, style), m.b, 3)
    return same(m.w11, activated(m, y, style), m.b) + x


def _chain(m: Any, x: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
    y = functional.conv1d(same(m.w1, x), m.w3, m.b, stride=2, padding=2)
    y = functional.conv_transpose1d(y, m.up, None, stride=6, padding=3)
    return functional.linear(y.transpose(1, 2), m.matrix)


CASES = {
    "norm, residual, statistics": (_block, ("conv1d", "_residual", "_adain_snake", "_e1em05")),
    "a chain": (_chain, ("ci32_co32_k1", "_s2_d1_p2_2", "conv_transpose1d", "linear")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_on_tiles_equals_float64(name, on_tiles, as_module, compile_program):
    function, named = CASES[name]
    module, rng = as_module(function, **PARAMETERS), np.random.default_rng(4)
    batch = Dim("B", min=1, max=64)
    example = torch.zeros(2, C, 24), torch.zeros(2, 2 * C)
    program = compile_program(module, example, ({0: batch, 2: L}, {0: batch}), opt=2)
    called = [name for name in program.operators("lower_to_kernels") if "emulated" in name]
    for words in named:
        assert any(words in each and "bfloat16x3" in each for each in called), called
    if "statistics" in name:  # of the first norm alone
        operators = program.operators("lower_to_kernels")
        assert sum("channel_statistics" in each for each in operators) == 1, operators
    module = module.double()
    for rows, length in ((1, 2), (2, 31), (1, 200)):
        x = rng.standard_normal((rows, C, length), dtype=np.float32)
        style = 0.3 * rng.standard_normal((rows, 2 * C), dtype=np.float32)
        with torch.no_grad():
            exact = module(torch.from_numpy(x).double(), torch.from_numpy(style).double()).numpy()
        np.testing.assert_allclose(program(x, style), exact, atol=1e-4 * np.abs(exact).max())


def test_what_does_not_pay_on_tiles_stays_float32(on_tiles, as_module, compile_program):
    """Few outputs, and a matrix that is no parameter."""

    def function(m: Any, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(same(m.narrow, x).transpose(1, 2), m.matrix[:, :5] * 1)

    x = seeded(1, C, 33)
    module = as_module(function, **PARAMETERS)
    program = compile_program(module, [x], ({2: Dim("L", min=8, max=4096)},), opt=2)
    called = program.operators("lower_to_kernels")
    assert not any("emulated" in name for name in called), called
    np.testing.assert_allclose(program(x.numpy()), module(x).numpy(), atol=2e-5)


def test_one_part_is_for_convolutions(on_tiles, as_module, compile_program):
    on_tiles(Parts.ONE)
    module = as_module(
        lambda m, x: functional.linear(same(m.w3, x).transpose(1, 2), m.square), **PARAMETERS
    )
    program = compile_program(module, [torch.zeros(1, C, 33)], ({2: L},), opt=2)
    called = program.operators("lower_to_kernels")
    assert any(name.startswith("emulated_bfloat16_conv1d") for name in called), called
    assert any(name.startswith("emulated_bfloat16x3_linear") for name in called), called


@pytest.mark.parametrize("opt", (1, 2))
def test_other_functions_and_levels_stay_float32(opt, monkeypatch, as_module, compile_program):
    """The program of this test is none of the functions that may multiply on tiles."""
    if opt < 2:
        monkeypatch.setattr(pipeline, "TILED", {"program": Parts.TWO})
    module = as_module(lambda m, x: same(m.w3, x), **PARAMETERS)
    with emulated_tiles():
        program = compile_program(module, [torch.zeros(1, C, 33)], ({2: L},), opt=opt)
    called = program.operators("lower_to_kernels")
    assert not any("emulated" in name for name in called), called


def test_what_feeds_phases_has_the_accuracy_of_float32():
    two = {name for name, parts in pipeline.TILED.items() if parts is not Parts.THREE}
    assert two == {"text_encoder_forward", "decoder_forward"}


@pytest.mark.parametrize(("precision", "parts"), [("float32", Parts.TWO), ("bfloat16", Parts.ONE)])
def test_a_precision_chooses_the_parts_of_the_decoder(monkeypatch, precision, parts):
    made = []
    of = CpuBackend.of
    monkeypatch.setattr(CpuBackend, "of", lambda *given: made.append(of(*given)) or made[-1])
    pipeline.phases(2, SAPPHIRE_RAPIDS, ParameterTable(), [], precision)
    (backend,) = made
    assert backend.unit is TileUnit.AMX
    chosen = {name: backend.for_function(name).multiplication for name in pipeline.TILED}
    assert chosen["decoder_forward"].parts is parts
    assert chosen["text_encoder_forward"].parts is Parts.TWO
    assert chosen["bert_forward"].parts is chosen["f0n_forward"].parts is Parts.THREE


def test_only_a_target_with_amx_has_tiles():
    assert TileUnit.of(SAPPHIRE_RAPIDS) is TileUnit.AMX
    for mcpu in ("icelake-server", "x86-64-v4", "znver4"):
        assert TileUnit.of(tvm.target.Target({"kind": "llvm", "mcpu": mcpu})) is None
    # What kernels need is what loading requires.
    assert set(tile_unit.FEATURES) == set(amx.FEATURES)
