"""Kokoro's functions as `torch.onnx` exports them: import, compile, and equal ONNX Runtime."""

import warnings

import numpy as np
import pytest

pytestmark = pytest.mark.slow

onnx = pytest.importorskip("onnx", reason="the ONNX frontend needs the package onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="the results are compared with it")

import torch  # noqa: E402
import tvm  # noqa: E402
from onnx_cases import compiled  # noqa: E402

from benchmarks.peers.onnx_export import export_onnx, input_shapes  # noqa: E402
from benchmarks.peers.portable import portable_modules  # noqa: E402
from kokoro_pipeline.compiler.model.components import SIGNATURES  # noqa: E402
from kokoro_pipeline.compiler.weights import load_model, resolve  # noqa: E402
from tvm_kokoro_ext import _compat  # noqa: E402

LENGTHS = ({"B": 1, "n": 7, "t": 3}, {"B": 1, "n": 12, "t": 5})
#: What the newer exporter exports with a dynamic length, and the opset: the others have an LSTM,
#: whose length `torch.export` fixes.
NEWER = (
    ("bert_forward", 18),
    ("source_forward", 18),
    ("source_forward", 21),
    ("decoder_forward", 18),
)
PEAK = 1e-3


@pytest.fixture(scope="module")
def modules():
    if _compat.tvm_version() < _compat.Version("0.27"):
        pytest.skip("before 0.27 what an ONNX graph computes of sizes is not repaired")
    return portable_modules(load_model(resolve("synthetic")))


@pytest.fixture(scope="module")
def exported(modules, tmp_path_factory):
    folder = tmp_path_factory.mktemp("onnx")
    export_onnx(modules, folder)
    return folder


def inputs_of(name, symbols):
    draw = np.random.default_rng(0)
    arrays = []
    for (tensor, (dtype, _)), shape in zip(
        SIGNATURES[name].inputs.items(), input_shapes(name, symbols).values(), strict=True
    ):
        if tensor == "lengths":
            arrays.append(np.full(shape, symbols["n"], dtype))
        elif dtype == "int64":
            arrays.append(draw.integers(1, 100, shape))
        elif tensor == "F0":
            arrays.append((draw.random(shape) * 200).astype(dtype))
        else:
            arrays.append((draw.standard_normal(shape) * 0.3).astype(dtype))
    return arrays


def equal_onnx_runtime(path, name, module):
    run = compiled(onnx.load(path))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    taken = {value.name for value in session.get_inputs()}
    for symbols in LENGTHS:
        arrays = inputs_of(name, symbols)
        given = dict(zip(SIGNATURES[name].inputs, arrays, strict=True))
        own = {key: value for key, value in given.items() if key in taken}
        want = session.run(None, own)
        got = run(*own.values())
        with torch.no_grad():
            eager = module(*map(torch.from_numpy, arrays))
        eager = eager if isinstance(eager, tuple) else (eager,)
        for mine, theirs, torchs in zip(got, want, eager, strict=True):
            assert mine.shape == theirs.shape
            assert np.abs(mine - theirs).max() <= PEAK * np.abs(theirs).max()
            if name != "source_forward":  # whose phases turn at an angle of 180 degrees
                assert np.abs(mine - torchs.numpy()).max() <= PEAK * np.abs(theirs).max()


@pytest.mark.parametrize("name", SIGNATURES)
def test_the_first_exporter(exported, modules, name):
    equal_onnx_runtime(exported / f"{name}.onnx", name, modules[name])


@pytest.mark.parametrize(("name", "opset"), NEWER)
def test_the_newer_exporter(modules, tmp_path, name, opset):
    pytest.importorskip("onnxscript", reason="the newer exporter of torch needs it")
    signature = SIGNATURES[name]
    shapes = tuple(
        {
            axis: torch.export.Dim.DYNAMIC
            for axis, size in enumerate(shape)
            if isinstance(size, str) and size != "B"
        }
        for _, shape in signature.inputs.values()
    )
    example = tuple(map(torch.from_numpy, inputs_of(name, {"B": 1, "n": 12, "t": 14})))
    path = tmp_path / f"{name}.onnx"
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            modules[name],
            example,
            str(path),
            input_names=list(signature.inputs),
            output_names=list(signature.outputs),
            dynamic_shapes=shapes,
            opset_version=opset,
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    equal_onnx_runtime(path, name, modules[name])


def test_stock_imports_none(exported):
    from tvm.relax.frontend.onnx import from_onnx

    import tvm_kokoro_ext

    for name in SIGNATURES:
        with (
            tvm_kokoro_ext.disabled("all"),
            pytest.raises(
                (ValueError, TypeError, tvm.error.InternalError, tvm.error.OpNotImplemented)
            ),
        ):
            from_onnx(onnx.load(exported / f"{name}.onnx"))
