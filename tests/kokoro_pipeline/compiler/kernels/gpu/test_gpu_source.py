"""The harmonic source without float64 meets the tolerances for float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tvm import tirx

from kokoro_pipeline.compiler.exporting import export_component
from kokoro_pipeline.compiler.importing import import_program
from kokoro_pipeline.compiler.kernels.gpu import fixed_point
from kokoro_pipeline.compiler.kernels.gpu.harmonic_source import (
    HarmonicSource,
    arctangent,
    excitation,
    pack_basis,
    pack_mix,
    phase_increments,
    spectrum,
)
from kokoro_pipeline.compiler.kernels.gpu.scan import running_sum
from kokoro_pipeline.compiler.kernels.gpu.threads import (
    Parameter,
    T,
    bind,
    build_kernel,
    ceil_div,
    i32,
    launch,
    store,
)
from kokoro_pipeline.compiler.lowering.parameter_table import PARAMETER_NAMES, ParameterTable
from kokoro_pipeline.compiler.model import make_components
from kokoro_pipeline.compiler.passes.pipeline import phases, run_phases
from kokoro_pipeline.compiler.weights import load_model, resolve
from kokoro_pipeline.errors import InputError
from kokoro_pipeline.validation.gates import judge_source
from tvm_gpu_emulator import emulate

SOURCE = HarmonicSource(9, 24000, 300, 0.1, 0.003, 0.1 / 3, 10.0)


def over_elements(name, function, count=1, dtype="int64"):
    """y[i] = function(x1[i], ...) as a kernel."""
    length = tirx.Var("L", "int64")

    def body(*buffers):
        *xs, y = buffers
        n = bind(i32(length))
        with launch([ceil_div(n, 64)], [64]) as ((block,), (thread,)):
            i = bind(block * 64 + thread)
            with T.If(i < n), T.Then():
                store(y, i, function(*(x[i] for x in xs)))

    names = [f"x{i}" for i in range(count)]
    parameters = [Parameter(each, (length,), dtype) for each in [*names, "y"]]
    return build_kernel(f"test_{name}", parameters, body)


@pytest.fixture(scope="module")
def kernels(kind, compile_kernels):
    functions = {
        "increments": phase_increments(SOURCE),
        "sums": running_sum(SOURCE.harmonics, "int64"),
        "excitation": excitation(SOURCE),
        "spectrum": spectrum(11, 20, 5),
        "multiply": over_elements("multiply", fixed_point.multiply, 2),
        "sine": over_elements("sine", fixed_point.sine_of_turns),
        "tanh": over_elements("tanh", lambda y: fixed_point.tanh(y, 56)),
        "arctangent": over_elements("arctangent", arctangent, 2, "float32"),
    }
    return compile_kernels(kind, functions)


@pytest.fixture(scope="module")
def component(synthetic_folder):
    model = load_model(resolve(str(synthetic_folder)))
    (found,) = make_components(model, ("source_forward",))
    return found.module


def integers(kernels, name, *values):
    return kernels(name, values, values[0].shape, dtype="int64")


@pytest.mark.slow
def test_products(kernels):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-(1 << 62), 1 << 62, 5000) for _ in range(2))
    ours = integers(kernels, "multiply", a, b)
    for x, y, product in zip(a.tolist(), b.tolist(), ours.tolist(), strict=True):
        assert abs(product - ((x * y) >> 62)) <= 6


def test_sine(kernels):
    turns = np.random.default_rng(0).integers(-(1 << 63), 1 << 63, 5000)
    ours = integers(kernels, "sine", turns) / 2.0**62
    np.testing.assert_allclose(ours, np.sin(2 * np.pi * (turns / 2.0**64)), rtol=0, atol=2e-15)


def test_tanh(kernels):
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.uniform(-30, 30, 3000), rng.uniform(-1, 1, 3000), [0.0, -60.0, 60.0]])
    ours = integers(kernels, "tanh", (y * 2.0**56).astype(np.int64)) / 2.0**62
    np.testing.assert_allclose(ours, np.tanh(y), rtol=0, atol=1e-15)


def test_arctangent(kernels):
    """All quadrants, the axes, and which side of the cut: only a y below 0 is on the far one."""
    rng = np.random.default_rng(0)
    y, x = (rng.standard_normal(5000) * 10.0 ** rng.uniform(-15, 1, 5000) for _ in range(2))
    y = np.concatenate([y, [0, 0, 1, -1, 0, 1e-17, -1e-17]]).astype(np.float32)
    x = np.concatenate([x, [1, -1, 0, 0, 0, -1, -1]]).astype(np.float32)
    ours = kernels("arctangent", [y, x], y.shape)
    np.testing.assert_allclose(ours, np.arctan2(y, x), rtol=0, atol=4e-7)


@pytest.mark.parametrize("hz", [0.0, 1e-40, 1e-3, 9.99, 440.0, 2999.7, 25000.0, 1e9, -7.3])
def test_increments_are_exact_fractions(kernels, hz):
    f0 = np.array([[hz]], np.float32)
    ours = kernels("increments", [f0], (1, 1, 9), dtype="int64")
    for h, turns in enumerate(ours.ravel().tolist(), start=1):
        mantissa, denominator = float(f0[0, 0]).as_integer_ratio()
        exact = (mantissa * h << 64) // (denominator * SOURCE.sample_rate)
        off = (turns - exact + (1 << 63)) % (1 << 64) - (1 << 63)
        assert abs(off) <= 2


@pytest.mark.parametrize("blocks", [1, 2, 7, 320])
def test_the_gates_of_the_validation(kernels, component, blocks):
    """Voiced and unvoiced blocks, pitches below 0 and so high that a harmonic wraps."""
    rng = np.random.default_rng(blocks)
    f0 = 150 + 85 * np.sin(np.arange(blocks) / 20) + 5 * rng.standard_normal(blocks)
    f0[::7] = rng.uniform(-20, 12, f0[::7].shape)
    f0[5::50] = 3000
    f0 = f0[None].astype(np.float32)
    noise = rng.standard_normal((1, 300 * blocks, 9)).astype(np.float32)
    weights = {name: value.detach().numpy() for name, value in component.named_parameters()}
    increments = kernels("increments", [f0], (1, blocks, 9), dtype="int64")
    sums = kernels("sums", [increments], (1, blocks, 9), dtype="int64")
    mix = pack_mix(SOURCE, weights["weight"], weights["bias"])
    arguments = [f0, noise, increments, sums, mix]
    wave = kernels("excitation", arguments, (1, 300 * blocks), dtype="int64")
    basis = pack_basis(weights["stft.basis"])
    har = kernels("spectrum", [wave, basis], (1, 22, 60 * blocks + 1))

    exact = component.waveform(torch.from_numpy(f0), torch.from_numpy(noise))
    reference = torch.cat(component.stft(exact), dim=1).detach().numpy()
    exact = exact.detach().numpy()
    np.testing.assert_allclose(wave / 2.0**62, exact, rtol=0, atol=1e-10)
    window = torch.hann_window(20, dtype=torch.float32).double().numpy()
    verdicts = judge_source("case", "source", har, exact, reference, window)
    assert [verdict for verdict in verdicts if not verdict.passed] == []


@pytest.mark.slow
def test_metal_has_a_source_at_level_0(synthetic_folder, device_target):
    """There float64 programs do not compile; the level is for bisecting all the same."""
    (found,) = make_components(load_model(resolve(str(synthetic_folder))), ("source_forward",))
    parameters, target = ParameterTable(), device_target("metal")
    module = import_program(export_component(found), found.name, parameters)
    module = run_phases(module, phases(0, target, parameters, [found.name]), target)
    names = [str(name) for name in module[found.name].attrs[PARAMETER_NAMES]]
    executable = emulate(module, target, relax_pipeline=None)
    rng = np.random.default_rng(0)
    f0 = rng.uniform(0, 250, (1, 4)).astype(np.float32)
    noise = rng.standard_normal((1, 1200, 9)).astype(np.float32)
    har = executable[found.name](f0, noise, *(parameters[name] for name in names)).numpy()
    exact = found.module(torch.from_numpy(f0), torch.from_numpy(noise)).detach().numpy()
    np.testing.assert_allclose(har[0, :11], exact[0, :11], rtol=0, atol=1e-6)


def test_weights_too_large_for_fixed_point_are_refused():
    for weight in (1e9, 100.0):
        with pytest.raises(InputError, match="source"):
            pack_mix(SOURCE, np.full((1, 9), weight), np.zeros(1))


@pytest.mark.parametrize("level", [0, 1])
def test_constants_that_no_kernel_fits_are_refused_on_metal(synthetic_folder, device_target, level):
    """Plain code would need float64, which Metal lacks."""
    (found,) = make_components(load_model(resolve(str(synthetic_folder))), ("source_forward",))
    found.module.stft.basis = torch.nn.Parameter(found.module.stft.basis.repeat(1, 1, 2))
    parameters, target = ParameterTable(), device_target("metal")
    module = import_program(export_component(found), found.name, parameters)
    with pytest.raises(InputError, match=r"taps=40.*float64.*--target llvm"):
        run_phases(module, phases(level, target, parameters, [found.name]), target)
