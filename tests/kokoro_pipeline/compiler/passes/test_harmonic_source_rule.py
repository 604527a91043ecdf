"""The harmonic source on a CPU: two kernels in float64, or plain code."""

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


@pytest.mark.parametrize("opt_level", [0, 1, 2])
def test_meets_the_gates_of_the_validation(opt_level, component, mcpu):
    parameters = ParameterTable()
    module = import_program(export_component(component), component.name, parameters)
    run, kernels = compile_source(module, component.name, parameters, mcpu, opt_level)
    assert ({"excitation", "spectrum"} < {each.partition("_")[0] for each in kernels}) == (
        opt_level > 0
    )
    assert ("plain_spectrum" in kernels) == (opt_level == 0)
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


def eager(module, *inputs):
    return module(*map(torch.from_numpy, inputs)).detach().numpy()


@pytest.mark.parametrize("opt_level", [0, 1])
def test_the_constants_are_those_of_the_call(component, mcpu, opt_level):
    """Nothing of the model is built in: other rates, levels and numbers of harmonics compile."""
    other = copy.deepcopy(component.module)
    other.sample_rate, other.block, other.levels = 22_050, 40, (0.3, 0.01, 0.2, 60.0)
    other.weight = torch.nn.Parameter(torch.linspace(-1, 1, 5).double()[None])
    signature = replace(
        component.signature,
        inputs={"F0": ("float32", (1, "m")), "noise": ("float32", (1, "40*m", 5))},
    )
    example = (torch.zeros(1, 7), torch.zeros(1, 280, 5))
    changed = replace(component, module=other, signature=signature, example=example)
    parameters = ParameterTable()
    module = import_program(export_component(changed), changed.name, parameters)
    run, kernels = compile_source(module, changed.name, parameters, mcpu, opt_level)
    assert ("plain_spectrum" in kernels) == (opt_level == 0)
    rng = np.random.default_rng(0)
    f0 = rng.uniform(0, 300, (1, 9)).astype(np.float32)
    noise = rng.standard_normal((1, 360, 5)).astype(np.float32)
    np.testing.assert_allclose(
        run(f0, noise)[0, :11], eager(other, f0, noise)[0, :11], rtol=0, atol=1e-6
    )


def test_a_transform_that_no_kernel_fits_is_plain_code(component, mcpu):
    other = copy.deepcopy(component.module)
    other.stft.basis = torch.nn.Parameter(other.stft.basis.repeat(1, 1, 2))
    parameters = ParameterTable()
    program = export_component(replace(component, module=other))
    module = import_program(program, component.name, parameters)
    run, kernels = compile_source(module, component.name, parameters, mcpu, 2)
    assert "plain_spectrum" in kernels
    f0, noise = np.full((1, 4), 110.0, np.float32), np.zeros((1, 1200, 9), np.float32)
    np.testing.assert_allclose(
        run(f0, noise)[0, :11], eager(other, f0, noise)[0, :11], rtol=0, atol=1e-6
    )
