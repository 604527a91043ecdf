"""Custom operators are replaced, look-ups are clipped, components merged, parameters dropped."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
import tvm
from torch.export import Dim
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from tvm import relax, tirx
from tvm.script import tirx as T  # noqa: N812

from kokoro_pipeline.compiler.kernels.common.operand_precision import Precision
from kokoro_pipeline.compiler.kernels.cpu.vector import VectorTarget
from kokoro_pipeline.compiler.lowering.cpu_backend import CpuBackend
from kokoro_pipeline.compiler.lowering.gpu_backend import GpuBackend
from kokoro_pipeline.compiler.lowering.lower_to_kernels import lower_to_kernels
from kokoro_pipeline.compiler.lowering.parameter_table import PARAMETER_NAMES, ParameterTable
from kokoro_pipeline.compiler.model.blocks import BidirectionalLSTM
from kokoro_pipeline.compiler.model.operators import lstm_recurrence, masked_attention
from kokoro_pipeline.compiler.passes.drop_parameters import drop_parameters
from kokoro_pipeline.compiler.passes.merge_components import merge_components
from kokoro_pipeline.compiler.passes.pipeline import gpu_operands
from kokoro_pipeline.errors import InputError

BATCH, STEPS = Dim("B", min=1, max=64), Dim("n", min=1, max=512)
LENGTHS = ([9], [1], [4, 9, 1])
LEVELS = (0, 1)


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


# Custom operators


class OneLSTM(torch.nn.Module):
    def __init__(self, lstm: torch.nn.LSTM) -> None:
        super().__init__()
        self.lstm = BidirectionalLSTM(lstm)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return self.lstm(x, lengths)


@pytest.mark.parametrize("opt", LEVELS)
def test_lstm_equals_torch_at_every_length(opt, compile_program):
    with torch.random.fork_rng():
        torch.manual_seed(1)
        lstm = torch.nn.LSTM(6, 16, batch_first=True, bidirectional=True).requires_grad_(False)
    program = compile_program(
        OneLSTM(lstm),
        [torch.zeros(2, 5, 6), torch.tensor([5, 5])],
        ({0: BATCH, 1: STEPS}, {0: BATCH}),
        opt=opt,
    )
    for lengths in LENGTHS:
        x, counts = normal(2, len(lengths), max(lengths), 6), torch.tensor(lengths)
        packed = pack_padded_sequence(torch.from_numpy(x), counts, True, enforce_sorted=False)
        expected, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True)
        for row, length in enumerate(lengths):
            x[row, length:] = np.nan
        np.testing.assert_allclose(program(x, counts.numpy()), expected.numpy(), atol=2e-6)


@pytest.mark.parametrize("opt", LEVELS)
def test_attention_equals_the_eager_operator(opt, as_module, compile_program):
    module = as_module(lambda m, x, lengths: masked_attention(x, x * 2, torch.sin(x), lengths, 2))
    program = compile_program(
        module,
        [torch.zeros(2, 5, 32), torch.tensor([5, 5])],
        ({0: BATCH, 1: STEPS}, {0: BATCH}),
        opt=opt,
    )
    for lengths in LENGTHS:
        x, counts = normal(3, len(lengths), max(lengths), 32), np.array(lengths)
        result = program(x, counts)
        assert np.isfinite(result).all()
        expected = module(torch.from_numpy(x), torch.from_numpy(counts)).numpy()
        for row, length in enumerate(lengths):
            np.testing.assert_allclose(result[row, :length], expected[row, :length], atol=3e-6)


def test_a_recurrence_whose_weight_is_computed_takes_the_plain_loop(as_module, compile_program):
    module = as_module(
        lambda m, gates, lengths: lstm_recurrence(gates, m.recurrent * 0.5, lengths),
        recurrent=torch.from_numpy(normal(4, 2, 32, 8)),
    )
    gates, lengths = torch.from_numpy(normal(5, 2, 6, 64)), torch.tensor([6, 3])
    program = compile_program(module, [gates, lengths])
    assert "plain_lstm_recurrence" in program.operators("lower_to_kernels")
    expected = module(gates, lengths).numpy()
    np.testing.assert_allclose(program(gates.numpy(), lengths.numpy()), expected, atol=2e-6)


@pytest.mark.parametrize("opt", LEVELS)
def test_no_custom_operator_is_left_a_hole(opt, as_module, compile_program):
    module = as_module(lambda m, x, lengths: masked_attention(x, x, x, lengths, 2))
    program = compile_program(module, [torch.zeros(1, 5, 32), torch.tensor([5])], opt=opt)
    phase = "lower_to_kernels" if opt else "bind_operators"
    assert "relax.call_dps_packed" in program.operators("imported")
    assert "relax.call_dps_packed" not in program.operators(phase)


# Look-ups


@pytest.mark.parametrize("opt", LEVELS)
def test_an_index_beyond_its_table_reads_the_table_s_edge(opt, as_module, compile_program):
    """A library that is not called by the runtime should not read out of bounds either."""
    table = torch.from_numpy(normal(6, 5, 4))
    module = as_module(lambda m, ids: functional.embedding(ids, m.table), table=table)
    program = compile_program(
        module, [torch.zeros(3, dtype=torch.int64)], ({0: Dim("n", min=1, max=64)},), opt=opt
    )
    ids = np.array([0, 4, 2, 5, 1 << 30, -1, -(1 << 30)])
    clipped = np.clip(ids, 0, 4)
    np.testing.assert_array_equal(program(ids), table.numpy()[clipped])


# Merging


def component(name: str, factor: int, kernel_name: str = "scale") -> tvm.IRModule:
    """A Relax function that multiplies by `factor` in a PrimFunc."""

    @T.prim_func(private=True, s_tir=True)
    def kernel(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")) -> None:
        for i in T.serial(4):
            with T.sblock("scale"):
                v = T.axis.spatial(4, i)
                y[v] = x[v] * T.float32(factor)

    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([4], "float32"))
    with builder.function(name, [x]):
        with builder.dataflow():
            global_var = builder.add_func(kernel, kernel_name)
            out = relax.TensorType([4], "float32")
            y = builder.emit_output(relax.call_tir(global_var, [x], out))
        builder.emit_func_output(y)
    return builder.get()


def kernels(module: tvm.IRModule) -> list[str]:
    return sorted(
        str(name.name_hint) for name, f in module.functions.items() if isinstance(f, tirx.PrimFunc)
    )


def run_all(module: tvm.IRModule, names: list[str]) -> list[np.ndarray]:
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    x = tvm.runtime.tensor(np.ones(4, np.float32))
    return [machine[name](x).numpy() for name in names]


def test_equal_kernels_are_shared_and_others_of_the_same_name_kept_apart():
    merged = merge_components([component("a", 2), component("b", 3), component("c", 2)])
    assert len(kernels(merged)) == 2
    a, b, c = run_all(merged, ["a", "b", "c"])
    assert (a[0], b[0], c[0]) == (2, 3, 2)


def test_a_module_alone_is_merged_to_itself():
    (a,) = run_all(merge_components([component("a", 2)]), ["a"])
    assert a[0] == 2


def test_two_components_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two components are called 'a'"):
        merge_components([component("a", 2), component("a", 3)])


def test_merging_leaves_its_modules_alone():
    first, second = component("a", 2), component("b", 3)
    before = first.script(), second.script()
    merge_components([first, second])
    assert (first.script(), second.script()) == before


# Parameters


def named_function(body: str) -> tvm.IRModule:
    """program(x, w, v) over parameters "w" and "v"; `body` says which of them is read."""
    builder = relax.BlockBuilder()
    x, w, v = (relax.Var(n, relax.TensorType([4], "float32")) for n in "xwv")
    attrs = {"num_input": 1, PARAMETER_NAMES: ["w", "v"], "global_symbol": "program"}
    with builder.function("program", [x, w, v], attrs=attrs):
        with builder.dataflow():
            read = {"neither": x, "w": relax.op.add(x, w), "v": relax.op.multiply(v, v)}[body]
            output = builder.emit_output(read)
        builder.emit_func_output(output)
    return builder.get()


@pytest.mark.parametrize(("body", "kept"), [("neither", []), ("w", ["w"]), ("v", ["v"])])
def test_parameters_that_nothing_reads_are_dropped(body, kept):
    """The input stays, read or not: callers pass it."""
    function = drop_parameters(named_function(body))["program"]
    assert [str(name) for name in function.attrs[PARAMETER_NAMES]] == kept
    assert [variable.name for variable in function.params] == ["x", *kept]
    assert int(function.attrs["num_input"]) == 1


# Control flow

BACKENDS = (CpuBackend(False, VectorTarget(16, 32)), GpuBackend(False, 1024, True))


def control_flow(kind: str) -> tvm.IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([4], "float32"))
    condition = relax.Var("condition", relax.TensorType([], "bool"))
    attrs = {"num_input": 2, PARAMETER_NAMES: [], "global_symbol": "program"}
    with builder.function("program", [x, condition], attrs=attrs):
        if kind == "if":
            double = relax.SeqExpr([], relax.op.add(x, x))
            same = relax.SeqExpr([], relax.op.multiply(x, x))
            y = builder.emit(relax.If(condition, double, same))
        elif kind == "match_cast_of_shape":
            size = tirx.Var("size", "int64")
            builder.match_cast(relax.ShapeExpr([4]), relax.ShapeType([size]))
            y = builder.emit(relax.op.add(x, x))
        elif kind.startswith("match_cast"):
            value = relax.op.add(x, x) if kind == "match_cast_of_call" else x
            y = builder.match_cast(value, relax.TensorType([4], "float32"))
            y = builder.emit(relax.op.add(y, x))
        else:
            z = relax.Var("z", relax.TensorType([4], "float32"))
            body = relax.SeqExpr([], relax.op.add(z, x))
            inner = relax.Function([z], body, relax.TensorType([4], "float32"))
            y = builder.emit(relax.Call(builder.emit(inner), [x]))
        builder.emit_func_output(y)
    return builder.get()


@pytest.mark.parametrize(
    ("kind", "words"),
    [("if", "If"), ("match_cast_of_call", "MatchCast"), ("closure", "Function")],
)
@pytest.mark.parametrize("backend", BACKENDS, ids=["cpu", "gpu"])
def test_control_flow_is_refused_with_the_way_out(kind, words, backend):
    """The traversal only supports a sequence of bindings."""
    with pytest.raises(InputError, match=rf"{words}.*straight-line.*--opt 0"):
        lower_to_kernels(control_flow(kind), ParameterTable(), backend)


@pytest.mark.parametrize(
    ("kind", "declared"),
    [("match_cast", relax.TensorType), ("match_cast_of_shape", relax.ShapeType)],
)
@pytest.mark.parametrize("backend", BACKENDS, ids=["cpu", "gpu"])
def test_a_check_of_sizes_stays(kind, declared, backend):
    """An importer writes one where it cannot prove what torch.export assumed of sizes."""
    module = control_flow(kind)
    lowered = lower_to_kernels(module, ParameterTable(), backend)
    bindings = [b for block in lowered["program"].body.blocks for b in block.bindings]
    (cast,) = [binding for binding in bindings if isinstance(binding, relax.MatchCast)]
    assert isinstance(cast.ty, declared)
    assert str(cast.ty) in str(module)


@pytest.mark.parametrize("backend", BACKENDS, ids=["cpu", "gpu"])
def test_a_function_without_an_operator_of_the_table_stays_as_it_is(backend):
    module = control_flow("if")
    lowered = lower_to_kernels(module, ParameterTable(), backend, {"relax.matmul": ()})
    tvm.ir.assert_structural_equal(lowered, module)


@pytest.mark.parametrize("backend", BACKENDS, ids=["cpu", "gpu"])
def test_a_backend_is_frozen(backend):
    with pytest.raises(dataclasses.FrozenInstanceError):
        backend.fused = True
    assert hash(backend) == hash(dataclasses.replace(backend))


@pytest.mark.parametrize(
    ("kind", "precision", "operands"),
    [
        ("cuda", "float32", Precision.BFLOAT16X3),
        ("cuda", "float32-fma", Precision.FLOAT32),
        ("cuda", "tf32", Precision.TF32),
        ("cuda", "bfloat16", Precision.BFLOAT16),
        ("cuda", "float16", Precision.FLOAT16),
        ("metal", "float32", Precision.FLOAT32),
    ],
)
def test_what_a_gpu_takes_for_a_precision(kind, precision, operands):
    assert gpu_operands(kind, precision) is operands


def test_only_reduced_functions_multiply_in_reduced_precision():
    backend = GpuBackend(True, 1024, True, Precision.TF32, frozenset({"decoder_forward"}))
    assert backend.for_function("decoder_forward").precision is Precision.TF32
    assert backend.for_function("f0n_forward").precision is Precision.FLOAT32
