"""Every function of an artifact, lowered for a device and run by the Relax VM, against float64."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import pytest
import torch
import tvm

from kokoro_pipeline.compiler.exporting import export_component
from kokoro_pipeline.compiler.importing import import_program
from kokoro_pipeline.compiler.kernels.common.operand_precision import Precision
from kokoro_pipeline.compiler.lowering.parameter_table import PARAMETER_NAMES, ParameterTable
from kokoro_pipeline.compiler.model.align import make_alignment
from kokoro_pipeline.compiler.model.components import evaluate_dimension, make_components
from kokoro_pipeline.compiler.passes.bind_threads import has_threads
from kokoro_pipeline.compiler.passes.merge_components import merge_components
from kokoro_pipeline.compiler.passes.pipeline import phases, run_phases
from kokoro_pipeline.compiler.weights import load_model, resolve
from kokoro_pipeline.errors import EnvironmentFault
from kokoro_pipeline.validation.gates import NETWORK_MAX, judge_network, judge_source
from tvm_gpu_emulator import emulate
from tvm_gpu_emulator.msl_check import check_metal, find_clang

pytestmark = pytest.mark.slow

NETWORKS = (
    "bert_forward",
    "duration_forward",
    "text_encoder_forward",
    "f0n_forward",
    "decoder_forward",
    "align_forward",
)
SIZES = {"B": 2, "n": 5, "t": 4, "m": 8}
CHECKED = {
    "cuda": ("text_encoder_forward", "f0n_forward"),
    "metal": ("text_encoder_forward", "source_forward", "align_forward"),
}
"""Functions that run whole under the checker: convolutions of both kinds with norms, activations
and residuals fused, statistics, layer norm, the LSTM, linear layers, fixed point, gathers, and what
is legalized between them. The kernels of the others are checked one by one."""
CHECKED_SIZES = {"B": 1, "n": 3, "t": 2, "m": 4}


@dataclass
class Imported:
    """The components as the importer gives them, and their torch modules."""

    components: dict
    modules: dict
    parameters: ParameterTable

    def merged(self, names):
        return merge_components([self.modules[name] for name in names])


@pytest.fixture(scope="module")
def imported(synthetic_folder):
    model = load_model(resolve(str(synthetic_folder)))
    components = {c.name: c for c in [*make_components(model), make_alignment()]}
    parameters = ParameterTable()
    modules = {
        name: import_program(export_component(component), name, parameters)
        for name, component in components.items()
    }
    return Imported(components, modules, parameters)


class Device:
    """The functions of one device at the highest level."""

    def __init__(self, imported, names, target, **options):
        self.kind = target.kind.name
        self.parameters = ParameterTable(dict(imported.parameters.arrays))
        todo = phases(2, target, self.parameters, names)
        self.lowered = run_phases(imported.merged(names), todo, target)
        self.executable = emulate(self.lowered, target, relax_pipeline=None, **options)

    def __call__(self, name, arrays):
        names = map(str, self.lowered[name].attrs[PARAMETER_NAMES])
        weights = [self.parameters[parameter] for parameter in names]
        result = self.executable[name](*arrays, *weights)
        return [result.numpy()] if hasattr(result, "numpy") else [r.numpy() for r in result]


@pytest.fixture(scope="module")
def device(kind, imported, device_target):
    return Device(imported, [*NETWORKS, "source_forward"], device_target(kind))


def example(signature, sizes=SIZES):
    """Inputs of the size of real ones."""
    rng = np.random.default_rng(0)
    arrays = []
    for name, (dtype, shape) in signature.inputs.items():
        size = [evaluate_dimension(extent, sizes) for extent in shape]
        if name == "lengths":
            array = np.array([sizes["n"], sizes["n"] - 2][: sizes["B"]])
        elif name == "tokens":
            array = np.sort(rng.integers(0, sizes["n"], size))
        elif dtype == "int64":
            array = rng.integers(1, 170, size)
        elif name == "F0":
            array = rng.uniform(0, 250, size)
        else:
            array = rng.standard_normal(size) * (1.0 if name == "noise" else 0.3)
        if name == "har":
            array[:, :11] = np.abs(array[:, :11])
        arrays.append(array.astype(dtype))
    return arrays


def exact(component, arrays):
    """The torch module's answer in float64."""
    module = copy.deepcopy(component.module).double()
    tensors = [torch.from_numpy(array) for array in arrays]
    with torch.no_grad():
        result = module(*(t.double() if t.is_floating_point() else t for t in tensors))
    return [r.numpy() for r in (result if isinstance(result, tuple) else (result,))]


def test_the_source(device, imported):
    """In fixed point on both devices, 4 s of it: what float64 is held to, and what the README says
    was measured."""
    component = imported.components["source_forward"]
    arrays = example(component.signature, {**SIZES, "m": 320})
    (har,) = device("source_forward", arrays)
    waveform = component.module.waveform(*(torch.from_numpy(array) for array in arrays))
    reference = torch.cat(component.module.stft(waveform), dim=1).detach().numpy()
    window = torch.hann_window(20, dtype=torch.float32).double().numpy()
    verdicts = judge_source("case", "source", har, waveform.detach().numpy(), reference, window)
    assert [verdict for verdict in verdicts if not verdict.passed] == []
    errors = {verdict.quantity: verdict.max_error for verdict in verdicts}
    assert max(errors["phase"], errors["magnitude"]) < 5e-7


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(device, imported, name):
    component = imported.components[name]
    arrays = example(component.signature)
    for ours, expected in zip(device(name, arrays), exact(component, arrays), strict=True):
        judged = judge_network("case", name, "output", ours, expected)
        assert judged.passed, judged


def test_whole_functions_under_the_checker(kind, imported, device_target):
    """No race, stray access or divergent barrier between or in the kernels of a function, as the
    VM calls them: with the memory plan's shared buffers and real shapes."""
    checked = Device(imported, CHECKED[kind], device_target(kind), check=True)
    for name in CHECKED[kind]:
        component = imported.components[name]
        arrays = example(component.signature, CHECKED_SIZES)
        results = checked(name, arrays)
        if name != "source_forward":  # its phases are judged above
            for ours, expected in zip(results, exact(component, arrays), strict=True):
                # Norms over two frames magnify.
                assert np.abs(ours - expected).max() <= 10 * NETWORK_MAX * np.abs(expected).max()
    assert checked.executable.reports == []
    assert len(checked.executable.launches) > 12


def test_every_function_launches_threads(device):
    """A function without threads could not run on a device."""
    functions = {
        name.name_hint: function
        for name, function in device.lowered.functions.items()
        if isinstance(function, tvm.tirx.PrimFunc) and not function.attrs.get("tirx.is_host_func")
    }
    assert len(functions) > 50
    assert [name for name, function in functions.items() if not has_threads(function)] == []


def test_the_metal_text_passes_clang(device):
    """Address spaces, types and names of every kernel of the model."""
    if device.kind != "metal":
        pytest.skip("clang reads the Metal text only")
    try:
        find_clang()
    except EnvironmentFault as fault:
        pytest.skip(str(fault))
    source = device.executable.source
    assert source.count("kernel void ") > 50
    assert check_metal(source) == []


@pytest.mark.parametrize(
    ("kind", "precision", "ending"),
    [
        ("cuda", "tf32", "_tf32"),
        ("cuda", "float32", "_bfloat16x3"),
        ("cuda", "float32-fma", None),
        ("metal", "float32", None),
    ],
)
def test_tensor_cores_are_the_decoders_alone(imported, device_target, kind, precision, ending):
    """Elsewhere, durations and phases would change, which is more than noise."""
    names = ["f0n_forward", "decoder_forward"]
    parameters = ParameterTable(dict(imported.parameters.arrays))
    target = device_target(kind)
    todo = phases(2, target, parameters, names, precision)
    lowered = run_phases(imported.merged(names), todo, target)
    endings = tuple(f"_{operands.value}" for operands in Precision)
    packed = {
        name: [p for p in map(str, lowered[name].attrs[PARAMETER_NAMES]) if p.endswith(endings)]
        for name in names
    }
    assert packed["f0n_forward"] == []
    if ending is None:
        assert packed["decoder_forward"] == []
        return
    assert len(packed["decoder_forward"]) > 40
    assert all(parameter.endswith(ending) for parameter in packed["decoder_forward"])
    assert all(parameters[p].dtype == np.uint32 for p in packed["decoder_forward"])
