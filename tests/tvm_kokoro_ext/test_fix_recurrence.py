"""Recurrent layers against PyTorch, as loops over time."""

from functools import partial

import numpy as np
import pytest
import torch
import tvm
from frontend_cases import (
    Case,
    check,
    compile_module,
    export,
    fix_tests,
    import_program,
    scheduled_for_gpu,
)
from packaging.specifiers import SpecifierSet
from tvm import relax

from tvm_gpu_emulator import emulate
from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._importer import importer_class

EP = {"decomposed": (True,)}
RAW = {"decomposed": (False,)}
STATIC = {"symbolic": (False,)}


class Recurrent(torch.nn.Module):
    """A layer of 4 inputs: its outputs and last states."""

    def __init__(self, kind=torch.nn.LSTM, hidden=5, **options):
        super().__init__()
        torch.manual_seed(0)
        self.net = kind(4, hidden, **options)

    def forward(self, x, h=None, c=None):
        outputs, last = self.net(x, h if c is None else (h, c))
        return (outputs, *(last if isinstance(last, tuple) else [last]))


def batch(n):
    return (torch.randn(2, n, 4),)


def sequences(n):
    """[time, batch, features] of a symbolic batch."""
    return (torch.randn(6, n, 4),)


LSTM = [
    Case("one", Recurrent(batch_first=True), batch, **EP, **STATIC, wrong=None),
    Case("raw", Recurrent(batch_first=True), batch, **STATIC, decomposed=(False,)),
    Case("deep", Recurrent(num_layers=2, bidirectional=True), batch, **STATIC, **RAW),
    Case("no_bias", Recurrent(bias=False), batch, **STATIC, **RAW),
]
test_lstm, test_lstm_stock = fix_tests("lstm", LSTM)

OTHERS = {
    "gru": partial(Recurrent, torch.nn.GRU),
    "rnn_tanh": partial(Recurrent, torch.nn.RNN),
    "rnn_relu": partial(Recurrent, torch.nn.RNN, nonlinearity="relu"),
}
GRU = [
    Case(
        f"{kind}_{name}",
        make(**options),
        inputs,
        wrong=None if kind == "rnn_tanh" and name != "deep" else "",
    )
    for kind, make in OTHERS.items()
    for name, options, inputs in [
        ("rows", {"batch_first": True}, lambda n: (torch.randn(n, 7, 4),)),
        ("deep", {"num_layers": 2, "bidirectional": True, "hidden": 8}, sequences),
        ("no_bias", {"bias": False}, sequences),
        ("state", {}, lambda n: (torch.randn(3, n, 4), torch.randn(1, n, 5))),
        ("one_row", {}, lambda n: (torch.randn(7, 4), torch.randn(1, 5))),
    ]
]
for case in GRU:
    case.function.eval()
test_gru, test_gru_stock = fix_tests("gru", GRU)


@pytest.mark.parametrize("batch_first", [False, True])
def test_an_lstm_of_any_length_is_one_program(batch_first):
    """torch.export fixes an LSTM's length, so the node is made by hand over a symbolic one."""
    net = torch.nn.LSTM(4, 5, num_layers=2, bidirectional=True, batch_first=batch_first)
    graph = torch.fx.Graph()
    importer = importer_class()()
    parameters = []

    def given(name, *shape):
        node = graph.placeholder(name)
        importer.env[node] = relax.Var(name, _compat.tensor_type(shape, "float32"))
        parameters.append(importer.env[node])
        return node

    time = _compat.tir_var("t")
    x = given("x", *((2, time, 4) if batch_first else (time, 2, 4)))
    state = [given(name, 4, 2, 5) for name in ("h", "c")]
    weights = [given(f"w{i}", *w.shape) for i, w in enumerate(net._flat_weights)]
    options = (True, 2, 0.0, False, True, batch_first)
    node = graph.call_function(torch.ops.aten.lstm.input, (x, state, weights, *options))
    builder = importer.block_builder = relax.BlockBuilder()
    with builder.function("main", parameters):
        builder.emit_func_output(importer.convert_map["lstm.input"](node))
    run = compile_module(builder.get())
    for length in (1, 3, 17):
        torch.manual_seed(length)
        sizes = (2, length, 4) if batch_first else (length, 2, 4)
        signal, h, c = torch.randn(*sizes), torch.randn(4, 2, 5), torch.randn(4, 2, 5)
        with torch.no_grad():
            outputs, (last_h, last_c) = net(signal, (h, c))
        arrays = [t.detach().numpy() for t in (signal, h, c, *net._flat_weights)]
        for got, want in zip(run(*arrays), (outputs, last_h, last_c), strict=True):
            np.testing.assert_allclose(got, want.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("decomposed", [True, False])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_the_time_loop_is_a_loop(kind, decomposed):
    """Torch's decomposition has some ten operators for each step of each layer."""
    module = Recurrent(getattr(torch.nn, kind), num_layers=2, bidirectional=True)
    case = Case("loop", module, lambda n: (torch.randn(64, 1, 4),))
    imported = import_program(export(case, symbolic=False), decomposed=decomposed)
    assert imported.script().count("R.") < 150, "unrolled over 64 steps"


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_a_loop_runs_on_a_gpu(kind):
    """In one thread; a program may be imported before its target is known."""
    module = Recurrent(getattr(torch.nn, kind), num_layers=2, bidirectional=True)
    case = Case("loop", module, lambda n: (torch.randn(3, 2, 4),))
    if _compat.tvm_version() in SpecifierSet("<0.27"):
        pytest.skip("the emulator reads what TVM 0.27 generates")
    target = tvm.target.Target({"kind": "cuda", "arch": "sm_90"}, host={"kind": "llvm"})
    imported = import_program(export(case, symbolic=False), decomposed=True)
    scheduled = scheduled_for_gpu(imported, target)
    given = case.inputs(5)[0]
    got = emulate(scheduled, target)["main"](given.numpy())
    for result, want in zip(got, module(given), strict=True):
        expected = want.detach().numpy()
        np.testing.assert_allclose(np.asarray(result.numpy()), expected, rtol=1e-5, atol=1e-6)


def test_a_layer_for_a_gpu_is_unrolled():
    """Where the target is known at import."""
    case = Case("loop", Recurrent(torch.nn.GRU), lambda n: (torch.randn(3, 1, 4),))
    program = export(case, symbolic=False)
    for decomposed in (True, False):
        with tvm.target.Target({"kind": "metal"}, host={"kind": "llvm"}):
            imported = import_program(program, decomposed=decomposed)
        kernels = [name.name_hint for name, _ in imported.functions_items()]
        assert not [name for name in kernels if name.startswith(("gru", "projection"))]
    assert any(
        name.name_hint.startswith("gru")
        for name, _ in import_program(program, decomposed=True).functions_items()
    )


def test_projections_are_unrolled():
    module = Recurrent(num_layers=2, proj_size=3)
    check(Case("projected", module, sequences), False, True)
