"""The modules that peers run compute the same as ours, also after the export."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("kokoro")

from benchmarks.peers.backend import BackendOptions  # noqa: E402
from benchmarks.peers.onnx_export import export_onnx  # noqa: E402
from benchmarks.peers.portable import portable_modules  # noqa: E402
from benchmarks.peers.verification import _spectrum  # noqa: E402
from kokoro_pipeline.compiler.model import COMPONENT_NAMES, make_components  # noqa: E402
from kokoro_pipeline.compiler.model.components import SIGNATURES, evaluate_dimension  # noqa: E402
from kokoro_pipeline.compiler.weights import load_model, open_folder  # noqa: E402
from kokoro_pipeline.config import load_config  # noqa: E402

pytestmark = pytest.mark.slow

SMALL = ("text_encoder_forward", "f0n_forward", "source_forward")
"""The functions whose export takes seconds: an LSTM, convolutions, a spectrum."""


@pytest.fixture(autouse=True)
def keep_subnormals():
    """Peers flush subnormal numbers on the thread that calls them, which later tests use too."""
    yield
    torch.set_flush_denormal(False)


@pytest.fixture(scope="module")
def modules(synthetic_folder: Path):
    """(ours, theirs) by name over the same parameters."""
    model = load_model(open_folder(synthetic_folder))
    ours = {component.name: component.module for component in make_components(model)}
    return ours, portable_modules(model)


def inputs_of(name: str, n: int, t: int) -> list[np.ndarray]:
    random = np.random.default_rng(n)
    sizes = {"B": 1, "n": n, "t": t, "m": 2 * t}
    arrays = []
    for tensor, (dtype, shape) in SIGNATURES[name].inputs.items():
        size = [evaluate_dimension(dimension, sizes) for dimension in shape]
        if tensor == "lengths":
            arrays.append(np.full(size, n))
        elif dtype == "int64":
            arrays.append(random.integers(0, load_config().n_token, size))
        elif tensor == "F0":
            # Negative where the real model is unvoiced, which shifts a phase by half a turn a
            # sample if the reduction to one cycle is forgotten.
            arrays.append(np.repeat(random.uniform(-60, 300, (1, t)), 2, 1).astype(np.float32))
        else:
            arrays.append(random.standard_normal(size, np.float32))
    return arrays


def outputs_of(module, arrays) -> list[np.ndarray]:
    with torch.no_grad():
        result = module(*map(torch.from_numpy, arrays))
    values = (result,) if isinstance(result, torch.Tensor) else result
    return [value.numpy() for value in values]


def difference(name: str, a: np.ndarray, b: np.ndarray) -> float:
    if name == "source_forward":
        a, b = _spectrum(a), _spectrum(b)
    return float(np.abs(a - b).max() / np.abs(b).max())


@pytest.mark.parametrize("name", COMPONENT_NAMES)
@pytest.mark.parametrize(("n", "t"), [(3, 4), (21, 40)])
def test_portable_modules_compute_the_same(modules, name, n, t):
    ours, theirs = modules
    arrays = inputs_of(name, n, t)
    # Both are float32, whose sums torch orders by the processor: 1.1e-5 was seen.
    tolerance = 2e-3 if name == "source_forward" else 5e-5
    for a, b in zip(outputs_of(theirs[name], arrays), outputs_of(ours[name], arrays), strict=True):
        assert a.dtype == b.dtype
        assert difference(name, a, b) < tolerance


@pytest.fixture(scope="module")
def exported(modules, tmp_path_factory) -> Path:
    pytest.importorskip("onnx", reason="the extra bench is not installed")
    folder = tmp_path_factory.mktemp("onnx")
    export_onnx({name: modules[1][name] for name in SMALL}, folder)
    return folder


def check_backend(backend, modules) -> None:
    """Test two lengths other than the export's, since a backend fixes its shapes to each."""
    for n, t in ((5, 6), (17, 23)):
        symbols = {"B": 1, "n": n, "t": t}
        for name in SMALL:
            function = backend._function(*backend_arguments(backend, name, symbols))
            result = function(*inputs_of(name, n, t))
            values = result if isinstance(result, tuple) else (result,)
            wanted = outputs_of(modules[1][name], inputs_of(name, n, t))
            for a, b in zip(values, wanted, strict=True):
                assert difference(name, np.asarray(a), b) < 1e-3, name


def backend_arguments(backend, name, symbols):
    if type(backend).__name__ == "OnnxRuntimeBackend":
        from benchmarks.peers.onnx_export import dimension_sizes

        return backend._options.models / f"{name}.onnx", dimension_sizes(name, symbols)
    return name, symbols


def test_onnx_runtime_computes_the_same(exported, modules):
    pytest.importorskip("onnxruntime", reason="the extra bench is not installed")
    from benchmarks.peers.onnx_runtime import OnnxRuntimeBackend

    check_backend(OnnxRuntimeBackend(BackendOptions(1, exported, exported)), modules)


def test_openvino_computes_the_same(exported, modules):
    pytest.importorskip("openvino", reason="the extra bench is not installed")
    from benchmarks.peers.openvino_cpu import OpenVinoBackend

    check_backend(OpenVinoBackend(BackendOptions(1, exported, exported)), modules)


def test_a_compiled_module_sees_one_set_of_strides():
    """numpy allows any stride for a dimension of size 1; torch.compile recompiles for each."""
    from benchmarks.peers.pytorch import _canonical

    odd = torch.arange(6.0).as_strided((1, 6), (17, 1))
    assert _canonical(odd).stride() == (6, 1)
    assert torch.equal(_canonical(odd), odd)
