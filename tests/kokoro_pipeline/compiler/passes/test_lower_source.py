"""The harmonic source on a CPU: two kernels in float64; any other program is unchanged."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
import tvm
from tvm import relax

from kokoro_pipeline.compiler.exporting import export_component
from kokoro_pipeline.compiler.importing import import_program
from kokoro_pipeline.compiler.lowering.parameter_table import PARAMETER_NAMES, ParameterTable
from kokoro_pipeline.compiler.model import make_components
from kokoro_pipeline.compiler.model.source import SourceForward
from kokoro_pipeline.compiler.passes.pipeline import generate_code, phases, run_phases
from kokoro_pipeline.compiler.weights import load_model, resolve
from kokoro_pipeline.validation.gates import judge_source


@pytest.fixture(scope="module")
def component(synthetic_folder):
    model = load_model(resolve(str(synthetic_folder)))
    (found,) = make_components(model, ("source_forward",))
    return found


def compile_source(module, name, parameters, mcpu, opt_level):
    target = tvm.target.Target({"kind": "llvm", "mcpu": mcpu})
    module = run_phases(module, phases(opt_level, target, parameters, [name]), target)
    names = [str(each) for each in module[name].attrs[PARAMETER_NAMES]]
    kernels = {each.name_hint for each in module.functions}
    machine = relax.VirtualMachine(generate_code(module, target), tvm.cpu())
    arrays = [tvm.runtime.tensor(parameters[each]) for each in names]

    def run(*inputs):
        return machine[name](*(tvm.runtime.tensor(each) for each in inputs), *arrays).numpy()

    return run, kernels


@pytest.mark.parametrize("opt_level", [1, 2])
def test_meets_the_gates_of_the_validation(opt_level, component, mcpu):
    parameters = ParameterTable()
    module = import_program(export_component(component), component.name, parameters)
    run, kernels = compile_source(module, component.name, parameters, mcpu, opt_level)
    assert {"excitation", "spectrum"} < {each.partition("_")[0] for each in kernels}
    assert not any("conv1d" in each or "atan2" in each for each in kernels), kernels
    rng = np.random.default_rng(0)
    window = torch.hann_window(20, dtype=torch.float32).double().numpy()
    for blocks in (2, 60):
        f0 = rng.uniform(-30, 250, (1, blocks)).astype(np.float32)
        noise = rng.standard_normal((1, 300 * blocks, 9)).astype(np.float32)
        har = run(f0, noise)
        wave = component.module.waveform(torch.from_numpy(f0), torch.from_numpy(noise))
        exact = torch.cat(component.module.stft(wave), dim=1).detach().numpy()
        verdicts = judge_source("case", "source", har, wave.detach().numpy(), exact, window)
        assert [verdict for verdict in verdicts if not verdict.passed] == []


class Louder(SourceForward):
    """A source with one constant more than the kernels support."""

    def waveform(self, F0, noise):
        return 2.0 * super().waveform(F0, noise)


def test_another_program_of_the_same_parameters_still_compiles(component, mcpu):
    module = copy.copy(component.module)
    module.__class__ = Louder
    louder = replace(component, module=module)
    parameters = ParameterTable()
    imported = import_program(export_component(louder), louder.name, parameters)
    run, kernels = compile_source(imported, louder.name, parameters, mcpu, 2)
    assert not any(each.startswith("spectrum") for each in kernels)
    f0, noise = np.full((1, 4), 110.0, np.float32), np.zeros((1, 1200, 9), np.float32)
    magnitude, _ = module.stft(module.waveform(torch.from_numpy(f0), torch.from_numpy(noise)))
    np.testing.assert_allclose(run(f0, noise)[0, :11], magnitude[0].detach().numpy(), atol=1e-6)
